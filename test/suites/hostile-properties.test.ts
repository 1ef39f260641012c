import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import { describe, expect, test } from 'vitest';
import { errorCatalogue } from '../../shared/errors.ts';
import { refundReasons } from '../../shared/refunds/reasons.ts';
import { useExposedService } from '../harness/exposed-service.ts';
import { expectInvariants } from '../harness/invariants.ts';
import { unknownRefundId } from '../harness/refund-records.ts';

const exposed = useExposedService();

/** Few of them, so that refunds of one payment meet each other. */
const payments = Array.from({ length: 100 }, (_, index) => `ch_property${index}`);

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    '\0',
    '\ud800',
    '',
    ' ',
    '\u202e',
    'null',
    "' OR 1=1--",
    '../..',
  ),
);
const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -0, 1e21, 2 ** 53, Number.MAX_SAFE_INTEGER, 5e-324, 0.1),
);
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    number,
    text,
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(text, tie('value'), { maxKeys: 6 }),
  ),
})).value;

const transactionId = fc.oneof(fc.constantFrom(...payments), fc.constant('ch_missing'), text);
const valid = fc.record(
  {
    transactionId: fc.constantFrom(...payments),
    amount: fc.integer({ min: 1, max: 100 }),
    reason: fc.constantFrom(...refundReasons),
    currency: fc.constantFrom('usd', 'usd', 'USD', 'eur'),
    processor: fc.constantFrom('stripe', 'stripe', 'stripe', 'braintree'),
    metadata: fc.dictionary(fc.string({ minLength: 1, maxLength: 40 }), fc.jsonValue({ maxDepth: 3 })),
  },
  { requiredKeys: ['transactionId', 'amount', 'reason'] },
);
/** A valid body in which some fields have become something else. */
const nearlyValid = fc
  .tuple(
    valid,
    fc.record(
      {
        transactionId,
        amount: anything,
        reason: anything,
        currency: anything,
        processor: anything,
        metadata: anything,
        unknown: anything,
      },
      { requiredKeys: [] },
    ),
  )
  .map(([body, damage]) => ({ ...body, ...damage }));

const json = fc.oneof(valid, nearlyValid, anything).map((value) => Buffer.from(JSON.stringify(value) ?? ''));
/** Bytes of which some were overwritten, doubled or cut off. */
const mutilated = fc
  .tuple(json, fc.array(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 4 })), { minLength: 1, maxLength: 4 }))
  .map(([bytes, edits]) =>
    edits.reduce((damaged, [position, insertion]) => {
      const at = damaged.length === 0 ? 0 : position % damaged.length;
      return Buffer.concat([damaged.subarray(0, at), insertion, damaged.subarray(at + (position % 3))]);
    }, bytes),
  );
const body = fc.oneof(
  { arbitrary: json, weight: 6 },
  { arbitrary: mutilated, weight: 3 },
  { arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)), weight: 1 },
);

/** Sends a request and holds the answer against the two shapes that there are. */
async function expectKnownAnswer(request: InjectOptions): Promise<number> {
  const { service } = exposed;
  const response = await service.app.inject({
    ...request,
    headers: { authorization: `Bearer ${service.organization.keys.test.plaintext}`, ...request.headers },
  });
  const answered = response.json();
  const told = `${response.statusCode} ${response.body.slice(0, 500)}`;
  expect(response.headers['x-request-id'], told).toMatch(/^req_/);
  if (response.statusCode === 200) {
    expect(Object.keys(answered), told).toEqual(['data']);
    return 200;
  }
  expect(response.statusCode < 500 || response.statusCode === 502, told).toBe(true);
  expect(answered, told).toEqual({
    error: { message: expect.stringMatching(/\S/), code: expect.any(String) },
  });
  expect(Object.keys(errorCatalogue), told).toContain(answered.error.code);
  return response.statusCode;
}

describe('whatever is sent, the answer is data or an error of the catalogue, and never a fault', () => {
  const headers = { 'content-type': 'application/json', prefer: 'respond-async' };

  test('for 1500 bodies of creations; each 200 is one refund on record', { timeout: 180_000 }, async () => {
    const seen = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(body, async (payload) => {
        const status = await expectKnownAnswer({ method: 'POST', url: '/v1/refunds', headers, payload });
        seen.set(status, (seen.get(status) ?? 0) + 1);
      }),
      { numRuns: 1_500 },
    );
    expect(seen.get(200)).toBeGreaterThan(50);
    expect(seen.get(400)).toBeGreaterThan(50);
    expect(await exposed.service.deps.db.refund.count()).toBe(seen.get(200));
    await expectInvariants(exposed.service);
  });

  test('for 300 bodies of policy checks and cancellations', { timeout: 60_000 }, async () => {
    const urls = fc.constantFrom('/v1/policies/check', `/v1/refunds/${unknownRefundId}/cancel`);
    const property = fc.asyncProperty(urls, body, async (url, payload) => {
      await expectKnownAnswer({ method: 'POST', url, headers, payload });
    });
    await fc.assert(property, { numRuns: 300 });
  });

  test('for 500 ids, queries and idempotency keys', { timeout: 60_000 }, async () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
    });
    const property = fc.asyncProperty(text, text, visible, async (id, value, key) => {
      const encoded = encodeURIComponent(id.toWellFormed());
      const query = new URLSearchParams({ status: value, limit: id, processor: value }).toString();
      await expectKnownAnswer({ method: 'GET', url: `/v1/refunds/${encoded}` });
      await expectKnownAnswer({ method: 'GET', url: `/v1/refunds?${query}` });
      await expectKnownAnswer({
        method: 'GET',
        url: `/v1/refunds?processor=${encodeURIComponent(value.toWellFormed())}`,
      });
      await expectKnownAnswer({
        method: 'POST',
        url: `/v1/refunds/${encoded}/cancel`,
        headers: { 'idempotency-key': key },
      });
    });
    await fc.assert(property, { numRuns: 125 });
  });
});
