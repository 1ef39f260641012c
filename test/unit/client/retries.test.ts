import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RefundClient } from '#shared/client/index.ts';

// On a held clock, against a scripted service.

const valid = { transactionId: 'ch_1', amount: 1_000, reason: 'other' } as const;

/** One answer of a scripted service. */
type Step = (signal: AbortSignal) => Promise<Response>;

const fails = (status: number, code: string, headers = {}): Step => {
  return async () => Response.json({ error: { message: `A ${code}.`, code } }, { status, headers });
};
const disconnects: Step = async () => {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
};
const hangs: Step = (signal) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
const succeeds: Step = async () => Response.json({ data: { id: 'ref_1' } });
const proxySays = (status: number): Step => {
  return async () => new Response('<html>Bad gateway</html>', { status });
};

/** A client whose requests are answered by these steps, in order, and the requests it sent. */
function scripted(steps: Step[], options = {}) {
  const sent: { method: string; key: string | null; prefer: string | null; body: unknown }[] = [];
  const fetch = async (_url: string | URL | Request, init: RequestInit = {}) => {
    const { method, headers, body, signal } = init;
    const given = new Headers(headers);
    sent.push({
      method: method ?? 'GET',
      key: given.get('idempotency-key'),
      prefer: given.get('prefer'),
      body: body ?? null,
    });
    const step = steps[sent.length - 1];
    if (step === undefined) throw new Error('The script is over.');
    return await step(signal as AbortSignal);
  };
  const client = new RefundClient({
    baseUrl: 'https://refunds.example.com',
    apiKey: 'svc_test_1',
    fetch,
    ...options,
  });
  return { client, sent };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('keeps the key and the request over its own retries', async () => {
  const { client, sent } = scripted([disconnects, fails(500, 'internal_error'), proxySays(502), succeeds]);
  const created = client.refunds.create(valid, { wait: 5 });
  await vi.runAllTimersAsync();
  expect((await created).id).toBe('ref_1');
  expect(sent).toHaveLength(4);
  expect(sent[0]).toEqual({
    method: 'POST',
    key: expect.stringMatching(/^[\x21-\x7e]{1,255}$/),
    prefer: 'wait=5',
    body: JSON.stringify(valid),
  });
  expect(sent.every((request) => JSON.stringify(request) === JSON.stringify(sent[0]))).toBe(true);
});

test.each<[string, Step]>([
  ['cut off', async () => new Response('{"data":{"id":"re')],
  ['without data', async () => Response.json(null)],
  ['a time-out of a proxy', proxySays(408)],
])('repeats a creation whose answer is %s, which may have been carried out', async (_answer, step) => {
  const { client, sent } = scripted([step, succeeds]);
  const created = client.refunds.create(valid);
  await vi.runAllTimersAsync();
  expect((await created).id).toBe('ref_1');
  expect(sent[1]).toEqual(sent[0]);
});

test('makes a new key for each call, unless one is given, and the error has it', async () => {
  const { client, sent } = scripted([succeeds, succeeds, succeeds, fails(400, 'validation_error')]);
  // As a program in JavaScript may send it.
  const none = { idempotencyKey: null as unknown as undefined };
  for (const options of [none, none, { idempotencyKey: 'order-1' }])
    await client.refunds.create(valid, options);
  const error: unknown = await client.refunds.create(valid).catch((thrown: unknown) => thrown);
  expect(new Set(sent.map(({ key }) => key)).size).toBe(4);
  expect(sent[2]?.key).toBe('order-1');
  expect(error).toMatchObject({ idempotencyKey: sent[3]?.key });
});

test.each([
  ['seconds', () => '7', 7_000],
  ['a date', () => new Date(Math.ceil(Date.now() / 1000) * 1000 + 7_000).toUTCString(), 7_000],
])('waits as long as Retry-After says in %s', async (_form, header, ms) => {
  vi.setSystemTime(new Date('2026-11-20T09:30:00.000Z'));
  const { client, sent } = scripted([fails(429, 'rate_limited', { 'retry-after': header() }), succeeds]);
  const listed = client.refunds.list();
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(sent).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(sent).toHaveLength(2);
  await listed;
});

test('waits longer after each failure, at random, and gives up after maxRetries', async () => {
  vi.mocked(Math.random).mockReturnValue(1);
  const { client, sent } = scripted(Array(9).fill(fails(500, 'internal_error')), { maxRetries: 6 });
  const failure = client.refunds.list().catch((error: unknown) => error);
  const waits: number[] = [];
  for (let begun = Date.now(), seen = 1; sent.length < 7; ) {
    await vi.advanceTimersToNextTimerAsync();
    if (sent.length > seen) waits.push(Date.now() - begun);
    if (sent.length > seen) [begun, seen] = [Date.now(), sent.length];
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
  expect(await failure).toMatchObject({ code: 'internal_error', status: 500, retryable: true });
  await vi.runAllTimersAsync();
  expect(sent).toHaveLength(7);
});

test('leaves a Retry-After of more than a minute to the caller', async () => {
  const { client, sent } = scripted([fails(503, 'service_unavailable', { 'retry-after': '61' })]);
  await expect(client.refunds.list()).rejects.toMatchObject({ retryAfterMs: 61_000, retryable: true });
  expect(sent).toHaveLength(1);
});

test.each([
  [400, 'validation_error'],
  [502, 'processor_error'],
])('does not repeat a %d %s', async (status, code) => {
  const { client, sent } = scripted([fails(status, code, { 'x-request-id': 'req_1' })]);
  const failure = { name: 'RefundApiError', status, code, requestId: 'req_1', retryable: false };
  await expect(client.refunds.create(valid)).rejects.toMatchObject(failure);
  expect(sent).toHaveLength(1);
});

test('repeats an attempt without an answer, and reports it after the last one', async () => {
  const { client, sent } = scripted([hangs, hangs], { timeoutMs: 1_000, maxRetries: 1 });
  const failure = client.refunds.get('ref_1', { wait: 2 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(2_999);
  expect(sent).toHaveLength(1);
  await vi.runAllTimersAsync();
  expect(sent).toHaveLength(2);
  expect(await failure).toMatchObject({
    code: 'connection_error',
    status: null,
    retryable: true,
    message: expect.stringContaining('https://refunds.example.com (No answer within 3000 ms)'),
  });
});

test('waits without end for an answer when its timeout is infinite', async () => {
  const { client } = scripted([hangs], { timeoutMs: Number.POSITIVE_INFINITY, maxRetries: 0 });
  const listed = vi.fn();
  client.refunds.list().catch(listed);
  await vi.advanceTimersByTimeAsync(24 * 60 * 60 * 1_000);
  expect(listed).not.toHaveBeenCalled();
});

test('throws the reason of its signal, also while it waits for the next attempt', async () => {
  vi.mocked(Math.random).mockReturnValue(1);
  const { client, sent } = scripted([disconnects, succeeds]);
  const controller = new AbortController();
  const failure = client.refunds.list({ signal: controller.signal }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toHaveLength(1);
  controller.abort(new Error('enough'));
  expect(await failure).toEqual(new Error('enough'));
  await expect(client.refunds.list({ signal: controller.signal })).rejects.toThrow('enough');
  expect(sent).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('repeats what could be carried out twice only if nothing was changed', async () => {
  const endpoint = { url: 'https://example.com/' };
  const { client, sent } = scripted([
    fails(429, 'rate_limited'),
    fails(503, 'service_unavailable'),
    disconnects,
  ]);
  const creating = client.webhookEndpoints.create(endpoint).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await creating).toMatchObject({ code: 'connection_error', retryable: true });
  expect(sent).toHaveLength(3);
  const changing = scripted([disconnects, succeeds]);
  const changed = changing.client.webhookEndpoints.update('we_1', endpoint);
  await vi.runAllTimersAsync();
  await changed;
  expect(changing.sent).toHaveLength(2);
});

test('does not repeat a deletion that may have been carried out, because its repetition would get a 404', async () => {
  const { client, sent } = scripted([fails(429, 'rate_limited'), disconnects]);
  const deleting = client.webhookEndpoints.delete('we_1').catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await deleting).toMatchObject({ code: 'connection_error' });
  expect(sent).toHaveLength(2);
});
