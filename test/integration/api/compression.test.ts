import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
beforeAll(async () => {
  const metadata = { note: 'x'.repeat(2_000) };
  for (let count = 0; count < 4; count += 1) await newRefund(service, { metadata });
});

async function ask(url: string, acceptEncoding?: string) {
  const authorization = `Bearer ${service.organization.keys.test.plaintext}`;
  const accepted = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding };
  const { headers, rawPayload } = await service.app.inject({ url, headers: { authorization, ...accepted } });
  return {
    encoding: headers['content-encoding'],
    length: headers['content-length'],
    bytes: rawPayload,
    headers,
  };
}

test.each(['gzip', 'br, gzip;q=0.5, *', 'deflate,GZIP ; q=1'])(
  'a large answer is compressed for %s',
  async (accepted) => {
    const plain = await ask('/v1/refunds');
    const { encoding, length, bytes, headers } = await ask('/v1/refunds', accepted);
    expect([encoding, length, headers.vary]).toEqual(['gzip', String(bytes.length), 'accept-encoding']);
    expect(bytes.length).toBeLessThan(plain.bytes.length / 4);
    expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true);
  },
);

test.each([
  ['a client that does not accept it', '/v1/refunds', undefined],
  ['a client that refuses it', '/v1/refunds', 'gzip;q=0, br'],
  ['a small answer', '/v1/refunds?limit=1', 'gzip'],
])('nothing is compressed for %s', async (_whom, url, accepted) => {
  const { encoding, headers } = await ask(url, accepted);
  expect(encoding).toBeUndefined();
  expect(headers.vary).toBe(url === '/v1/refunds' ? 'accept-encoding' : undefined);
});

test('a page with a session is never compressed', async () => {
  const { visitor } = await signInMember(service, 'viewer');
  const url = `/dashboard/${service.organization.id}/test/refunds`;
  const { text, headers } = await visitor.get(url, { 'accept-encoding': 'gzip' });
  expect(text.length).toBeGreaterThan(4 * 1024);
  expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined]);
});

test('style sheets and scripts, which hold no data, are compressed', async () => {
  const { bytes } = await ask('/dashboard/sign-in');
  const urls = [...bytes.toString().matchAll(/\/dashboard\/assets\/[^"]+\.(?:css|js)/g)].map(([url]) => url);
  expect(urls).toHaveLength(3);
  for (const url of urls) {
    const [plain, gzipped] = [await ask(url), await ask(url, 'gzip')];
    expect([plain.encoding, gzipped.encoding, gzipped.headers.vary]).toEqual([
      undefined,
      'gzip',
      'accept-encoding',
    ]);
    expect(gunzipSync(gzipped.bytes).equals(plain.bytes)).toBe(true);
  }
});
