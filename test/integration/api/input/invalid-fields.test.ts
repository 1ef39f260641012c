import { describe, expect, test } from 'vitest';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
const reasons =
  'must be one of: product_not_received, product_defective, wrong_product, duplicate_charge, subscription_cancelled, other';
const amount = 'must be a positive whole number in the smallest currency unit (1050 is 10.50 USD)';

async function messageOf(method: 'GET' | 'POST', url: string, body?: unknown): Promise<string> {
  const answer = await service.call(method, url, body === undefined ? {} : { body });
  expect([answer.status, answer.body.error?.code]).toEqual([400, 'validation_error']);
  return answer.body.error.message;
}

describe('an invalid request names every invalid field in one line', () => {
  test.each<[what: string, url: string, body: unknown, message: string]>([
    [
      'an empty body',
      '/v1/refunds',
      {},
      'transactionId: is required; reason: is required; amount: is required, unless remaining is true',
    ],
    [
      'all kinds of faults, in the order of the schema, unknown fields last',
      '/v1/refunds',
      { zebra: 1, reason: 'because', amount: 0, transactionId: 'a b', currency: 'us', 'two words': 1 },
      `transactionId: must contain visible ASCII characters only; amount: ${amount}; reason: ${reasons}; ` +
        'currency: must be a three-letter ISO 4217 currency code; zebra: unknown field; "two words": unknown field',
    ],
    [
      'a reason of two lines, beside another fault',
      '/v1/refunds/ref_1/reject',
      { reason: 'a\nb', note: 'x' },
      'reason: must be 1 to 500 printable characters; note: unknown field',
    ],
    [
      'the body before the query',
      '/v1/policies/check?dryRun=1&limit=5',
      { amount: 'x' },
      `transactionId: is required; amount: ${amount}; dryRun: unknown parameter; limit: unknown parameter`,
    ],
    [
      'a body that is not an object',
      '/v1/policies/check?a=1',
      [1],
      'body: must be a JSON object; a: unknown parameter',
    ],
    [
      'names with line breaks, escaped',
      '/v1/policies/check',
      { transactionId: 'ch_1', 'a\nb: c': 1 },
      '"a\\nb: c": unknown field',
    ],
  ])('%s', async (_what, url, body, message) => {
    expect(await messageOf('POST', url, body)).toBe(message);
  });

  test('in a query', async () => {
    const query = 'bogus=1&limit=0&status=done&metadata[a]=1&metadata[a]=2&offset=-1&after=x';
    expect(await messageOf('GET', `/v1/refunds?${query}`)).toBe(
      'metadata[a]: must be given once; status: must be one of: pending, processing, completed, failed, cancelled; ' +
        'limit: must be at least 1; offset: must be a whole number from 0 to 1000000 (use after to read further); bogus: unknown parameter',
    );
  });

  test('up to a bounded length', async () => {
    const long = 'x'.repeat(200);
    const body = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`${index}${long}`, 1]));
    const message = await messageOf('POST', '/v1/policies/check', body);
    expect(message).toMatch(/^transactionId: is required; 0x+: unknown field; .*; and 291 more$/);
    expect(message.length).toBeLessThan(1_000);
  });
});

test.each(['sort', '__proto__'])('no operation takes the query parameter %s', async (name) => {
  const { paths } = (await service.app.inject('/openapi.json')).json();
  for (const [path, operations] of Object.entries<object>(paths)) {
    if (!path.startsWith('/v1/')) continue;
    for (const method of Object.keys(operations)) {
      const { statusCode, body } = await service.app.inject({
        method: method.toUpperCase() as 'GET',
        url: `${path.replaceAll(/\{\w+\}/g, 'some_id')}?${name}=1`,
        headers: { authorization: `Bearer ${service.organization.keys.test.plaintext}` },
        ...(method === 'get' || method === 'delete' ? {} : { payload: {} }),
      });
      // A key of this service may lack the scope, which is checked before.
      if (statusCode === 403) continue;
      expect([path, method, statusCode, body]).toEqual([
        path,
        method,
        400,
        expect.stringContaining(`${name}: unknown parameter`),
      ]);
    }
  }
});
