import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createApiKey, revokeApiKey } from '../../../shared/organizations/api-keys.ts';
import type { Environment } from '../../../shared/platform/environment.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import type { TestOrganization } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

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

describe('a refund of somebody else does not exist', () => {
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
    const reserved = await service.deps.db.payment.findMany({ where: { transactionId } });
    expect(reserved.map(({ organizationId }) => organizationId)).toEqual([mine.id]);
    await create(theirs.keys.test.plaintext, transactionId, 10_000);
    const rows = await service.deps.db.payment.findMany({ where: { transactionId } });
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
  test('a revoked key is refused from the next request on, and its siblings go on', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() =>
        createApiKey(service.deps, { organizationId: mine.id, environment: 'test', actor: 'test' }),
      ),
    );
    if (first === undefined || second === undefined) throw new Error('two keys were made');
    const id = await created(first.plaintext);
    await revokeApiKey(service.deps, { keyId: first.id, actor: 'test' });
    const refused = await service.call('GET', `/v1/refunds/${id}`, { key: first.plaintext });
    expect([refused.status, refused.body.error.code]).toEqual([401, 'invalid_api_key']);
    const { status } = await service.call('GET', `/v1/refunds/${id}`, { key: second.plaintext });
    expect(status).toBe(200);
  });
});
