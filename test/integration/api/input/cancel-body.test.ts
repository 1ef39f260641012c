import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { useExposedService } from '#test/support/http/exposed-service.ts';
import { type RawAnswer, rawRequest } from '#test/support/http/raw-http.ts';
import { expectRefusal } from '#test/support/http/refusal.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';

const exposed = useExposedService();

const limitBytes = 64 * 1024;
const form = 'Content-Type: application/x-www-form-urlencoded';
const json = 'Content-Type: application/json';
const text = 'Content-Type: text/plain';

const created = async (): Promise<string> => (await newRefund(exposed.service)).id;

async function statusOf(id: string): Promise<string> {
  return (await exposed.service.call('GET', `/v1/refunds/${id}`)).body.data.status;
}

async function cancel(
  id: string,
  headers: readonly string[],
  bytes: string | Uint8Array,
): Promise<RawAnswer> {
  return await exposed.send(rawRequest(exposed.head(`POST /v1/refunds/${id}/cancel`, ...headers), bytes));
}

const sized = (bytes: string | Uint8Array) => `Content-Length: ${Buffer.byteLength(bytes)}`;
const chunked = (bytes: string) => `${bytes.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`;

describe('a cancellation accepts any body', () => {
  test.each<[what: string, body: string | Uint8Array, ...headers: string[]]>([
    ['an empty form', '', form],
    ['empty JSON', '', json],
    ['nothing of no type', ''],
    ['an object with fields', '{"force":true}', json],
    ['JSON that ends early', '{"force":', json],
    ['JSON that could reach a prototype', '{"__proto__":{"admin":true}}', json],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x00]), json],
    ['compressed JSON', gzipSync('{}'), json, 'Content-Encoding: gzip'],
    ['a form of several parts', '--a\r\n\r\n--a--', 'Content-Type: multipart/form-data; boundary=a'],
    ['text without a type', 'text'],
    ['text of a type that is none', 'text', 'Content-Type: ;;;'],
    ['text of the largest size', 'x'.repeat(limitBytes), text],
  ])('%s', async (_what, body, ...headers) => {
    const id = await created();
    const { status, text: answer } = await cancel(id, [sized(body), ...headers], body);
    expect(status, answer).toBe(200);
    expect(JSON.parse(answer).data).toMatchObject({ id, status: 'cancelled' });
  });

  test('nothing at all, and chunks without a length', async () => {
    const inChunks = [form, 'Transfer-Encoding: chunked'];
    expect((await cancel(await created(), [], '')).status).toBe(200);
    expect((await cancel(await created(), inChunks, chunked('force=true'))).status).toBe(200);
  });
});

describe('a body above 64 KiB is refused and cancels nothing', () => {
  const large = 'x'.repeat(limitBytes + 1);

  test.each([form, json, 'X-Nothing: of no type'])('%s', async (header) => {
    const id = await created();
    const attempts = [
      await cancel(id, [header, sized(large)], large),
      await cancel(id, [header, 'Transfer-Encoding: chunked'], chunked(large)),
    ];
    for (const answer of attempts) expectRefusal(answer, { status: 413, code: 'payload_too_large' });
    expect(await statusOf(id)).toBe('processing');
  });
});
