import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../shared/environment.ts';
import { createApiKey, generateApiKey, revokeApiKey } from '../../shared/organizations/api-keys.ts';
import { expectInvariants } from '../harness/invariants.ts';
import { newPayment } from '../harness/payments.ts';
import { unknownRefundId } from '../harness/refund-records.ts';
import type { TestOrganization } from '../harness/service.ts';
import { useService } from '../harness/use-service.ts';
import { waitFor } from '../harness/wait-for.ts';

const service = useService({ settings: { PROCESSOR_TIMEOUT_MS: 4_000 } });
let mine: TestOrganization;
let theirs: TestOrganization;
beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: null });
  mine = service.organization;
  theirs = await service.addOrganization('Somebody else');
});
afterEach(() => expectInvariants(service));

const payment = async (environment: Environment = 'test', options: object = {}) =>
  await newPayment(service, { environment, paymentMethod: 'customer_balance', ...options });
const create = async (key: string, transactionId: string, amount = 1_000) =>
  await service.call('POST', '/v1/refunds', { key, body: { transactionId, amount, reason: 'other' } });
const created = async (key: string, environment: Environment = 'test'): Promise<string> => {
  const { status, body } = await create(key, await payment(environment));
  expect(status).toBe(200);
  return body.data.id;
};

/** An answer as bytes, without what names the request and the moment. */
async function exactly(method: 'GET' | 'POST', url: string, key: string): Promise<string> {
  const response = await service.app.inject({ method, url, headers: { authorization: `Bearer ${key}` } });
  const { date: _date, 'x-request-id': _id, ...headers } = response.headers;
  return JSON.stringify({ status: response.statusCode, headers, body: response.body });
}

describe('a refund of somebody else does not exist', () => {
  test.each([
    ['another organization', () => theirs.keys.test.plaintext],
    ['the other environment of the same organization', () => mine.keys.live.plaintext],
    ['the other environment of another organization', () => theirs.keys.live.plaintext],
  ])('for %s: get and cancel answer byte for byte as for an unknown id', async (_whose, keyOf) => {
    const id = await created(mine.keys.test.plaintext);
    const key = keyOf();
    const refused = await exactly('GET', `/v1/refunds/${id}`, key);
    expect(JSON.parse(refused)).toMatchObject({
      status: 404,
      body: '{"error":{"message":"No such refund.","code":"not_found"}}',
    });
    expect(refused).toBe(await exactly('GET', `/v1/refunds/${unknownRefundId}`, key));
    expect(await exactly('POST', `/v1/refunds/${id}/cancel`, key)).toBe(
      await exactly('POST', `/v1/refunds/${unknownRefundId}/cancel`, key),
    );
    const { body } = await service.call('GET', `/v1/refunds/${id}`);
    expect(body.data).toMatchObject({ id, status: 'processing' });
  });

  test.each(['ref_', 'ref_x', 'org_01kahw3v6me8fbw6r5k2jdz7qs', `ref_${'0'.repeat(26)}`, 'nonsense', '1'])(
    'and neither does what is no id at all: %s',
    async (id) => {
      const key = mine.keys.test.plaintext;
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/cancel'],
      ] as const) {
        expect(await exactly(method, `/v1/refunds/${id}${path}`, key)).toBe(
          await exactly(method, `/v1/refunds/${unknownRefundId}${path}`, key),
        );
      }
    },
  );

  test('and waiting for it is over at once', async () => {
    const id = await created(mine.keys.test.plaintext);
    const started = performance.now();
    const { status } = await service.call('GET', `/v1/refunds/${id}`, {
      key: theirs.keys.test.plaintext,
      headers: { prefer: 'wait=20' },
    });
    expect(status).toBe(404);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test('on any page of a list, whatever is filtered', async () => {
    const owners = [mine, theirs].flatMap(({ id, keys }) =>
      (['test', 'live'] as const).map((environment) => ({
        id,
        environment,
        key: keys[environment].plaintext,
      })),
    );
    for (const { environment, key } of owners) await created(key, environment);
    for (const { id, environment, key } of owners) {
      for (const query of ['', '?limit=100', '?processor=stripe', '?status=processing&offset=0']) {
        const { body } = await service.call('GET', `/v1/refunds${query}`, { key });
        expect(body.data.length).toBeGreaterThan(0);
        const rows = await service.deps.db.refund.findMany({
          where: { id: { in: body.data.map((refund: { id: string }) => refund.id) } },
        });
        for (const row of rows) {
          expect(row).toMatchObject({ organizationId: id, environment });
        }
      }
    }
  });
});

describe('organizations and environments do not touch each other', () => {
  test('a payment that one has refunded in full is untouched for the other', async () => {
    const transactionId = await payment();
    const full = await create(mine.keys.test.plaintext, transactionId, 10_000);
    expect(full.status).toBe(200);
    expect((await create(mine.keys.test.plaintext, transactionId, 1)).status).toBe(409);
    const reserved = await service.deps.db.transaction.findMany({ where: { transactionId } });
    expect(reserved.map(({ organizationId }) => organizationId)).toEqual([mine.id]);
    await create(theirs.keys.test.plaintext, transactionId, 10_000);
    const rows = await service.deps.db.transaction.findMany({ where: { transactionId } });
    const ours = rows.find(({ organizationId }) => organizationId === mine.id);
    expect(ours).toEqual(reserved[0]);
  });

  test.each(['test', 'live'] as const)(
    'a %s key reaches the account of its environment alone',
    async (environment) => {
      const other = environment === 'test' ? 'live' : 'test';
      const transactionId = await payment(environment);
      const { body } = await create(mine.keys[environment].plaintext, transactionId);
      await waitFor('the refund to be at the processor', async () => {
        const refund = await service.deps.db.refund.findUniqueOrThrow({ where: { id: body.data.id } });
        return refund.externalRefundId;
      });
      expect(await service.sandbox.refunds({ environment, transactionId })).toHaveLength(1);
      expect(await service.sandbox.refunds({ environment: other, transactionId })).toEqual([]);
    },
  );

  test.each(['test', 'live'] as const)(
    'a %s key moves nothing in the other environment, also with the id of a payment there',
    async (environment) => {
      const other = environment === 'test' ? 'live' : 'test';
      const transactionId = await payment(other);
      // The sandbox makes up a payment of that id in the environment of the key.
      const { body } = await create(mine.keys[environment].plaintext, transactionId, 10_000);
      expect(await service.sandbox.refunds({ environment: other, transactionId })).toEqual([]);
      expect((await create(mine.keys[other].plaintext, transactionId, 10_000)).status).toBe(200);
      expect(await service.sandbox.refunds({ environment, transactionId })).toMatchObject([
        { key: body.data.id },
      ]);
    },
  );

  test('an account that one has set up serves nobody else', async () => {
    await service.deps.db.processorAccount.deleteMany({
      where: { organizationId: theirs.id, environment: 'live', processor: 'braintree' },
    });
    const transactionId = await payment('live', { processor: 'braintree', paymentMethod: undefined });
    const { status, body } = await service.call('POST', '/v1/refunds', {
      key: theirs.keys.live.plaintext,
      body: { transactionId, amount: 1, reason: 'other', processor: 'braintree' },
    });
    expect([status, body.error?.code]).toEqual([400, 'validation_error']);
    expect(body.error.message).toContain('live environment');
  });
});

describe('a key opens what it is for, while it is valid', () => {
  const refusal = JSON.stringify({
    error: {
      message: 'Send a valid API key as "Authorization: Bearer svc_test_..." or "svc_live_...".',
      code: 'invalid_api_key',
    },
  });
  const routes = [
    ['GET', '/v1/refunds'],
    ['POST', '/v1/refunds'],
    ['GET', `/v1/refunds/${unknownRefundId}`],
    ['POST', `/v1/refunds/${unknownRefundId}/cancel`],
    ['POST', '/v1/policies/check'],
  ] as const;

  async function expectShut(headers: Record<string, string>): Promise<void> {
    for (const [method, url] of routes) {
      const answer = await service.app.inject({ method, url, headers });
      expect([answer.statusCode, answer.body, answer.headers['www-authenticate']]).toEqual([
        401,
        refusal,
        'Bearer',
      ]);
    }
  }

  test('a revoked key is refused from the next request on, and its siblings go on', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() =>
        createApiKey(service.deps, { organizationId: mine.id, environment: 'test', actor: 'test' }),
      ),
    );
    if (first === undefined || second === undefined) throw new Error('two keys were made');
    const id = await created(first.plaintext);
    await revokeApiKey(service.deps, { keyId: first.id, actor: 'test' });
    await expectShut({ authorization: `Bearer ${first.plaintext}` });
    const { status } = await service.call('GET', `/v1/refunds/${id}`, { key: second.plaintext });
    expect(status).toBe(200);
  });

  test.each([
    ['no key', () => ({})],
    ['an empty key', () => ({ authorization: 'Bearer ' })],
    ['a key that was never made', () => ({ authorization: `Bearer ${generateApiKey('test')}` })],
    ['the key without its scheme', () => ({ authorization: mine.keys.test.plaintext })],
    ['another scheme', () => ({ authorization: `Basic ${mine.keys.test.plaintext}` })],
    [
      'a test key that calls itself live',
      () => ({ authorization: `Bearer ${swapped(mine.keys.test.plaintext)}` }),
    ],
    [
      'a key that lacks a letter',
      () => ({ authorization: `Bearer ${mine.keys.test.plaintext.slice(0, -1)}` }),
    ],
    ['a key with a letter more', () => ({ authorization: `Bearer ${mine.keys.test.plaintext}x` })],
    [
      'two keys',
      () => ({ authorization: `Bearer ${mine.keys.test.plaintext} ${theirs.keys.test.plaintext}` }),
    ],
    ['a key in another case', () => ({ authorization: `Bearer ${mine.keys.test.plaintext.toUpperCase()}` })],
    ["a key's id", () => ({ authorization: `Bearer ${mine.keys.test.id}` })],
    ['a wildcard', () => ({ authorization: 'Bearer svc_test_%' })],
    ['a key in another header', () => ({ 'x-api-key': mine.keys.test.plaintext })],
  ])('%s opens nothing, and nobody is told why', async (_what, headers) => {
    await expectShut(headers() as Record<string, string>);
  });

  test('a key in the query opens nothing', async () => {
    const { plaintext } = mine.keys.test;
    const answer = await service.app.inject(`/v1/refunds?access_token=${plaintext}&api_key=${plaintext}`);
    expect(answer.statusCode).toBe(401);
  });

  test('the plaintext of a key is nowhere in the database', async () => {
    const secret = mine.keys.test.plaintext.slice('svc_test_'.length);
    const rows = await service.deps.db.$queryRaw<{ row: string }[]>`SELECT api_key::text AS row FROM api_key`;
    expect(rows.length).toBeGreaterThan(3);
    for (const { row } of rows) expect(row).not.toContain(secret);
  });
});

function swapped(key: string): string {
  return key.replace('svc_test_', 'svc_live_');
}
