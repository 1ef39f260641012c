import { afterAll, describe, expect, test } from 'vitest';
import { CommitDelayingProxy } from '../../support/faults/commit-delaying-proxy.ts';
import { madeBeforeTests } from '../../support/made-before-tests.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { startService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { waitFor } from '../../support/wait-for.ts';

const databaseUrl = useDatabase();
const proxy = madeBeforeTests(
  'The proxy in front of PostgreSQL',
  () => CommitDelayingProxy.open(databaseUrl()),
  (opened) => opened.close(),
);
const service = madeBeforeTests(
  'The service',
  () => startService({ databaseUrl: proxy.url, backend: postgresQueues, workers: 0 }),
  (started) => started.close(),
);

const refundsOf = (transactionId: string) => service.deps.db.refund.findMany({ where: { transactionId } });

describe.each([
  ['arrives after its connection has broken', 'later'],
  ['is answered to nobody, because its connection has broken', 'at once'],
] as const)('a creation that %s', (_what, arrives) => {
  afterAll(async () => await expectInvariants(service));

  test.each([
    ['stripe', `late-stripe-${arrives.replace(' ', '-')}`],
    ['braintree', `late-braintree-${arrives.replace(' ', '-')}`],
    ['stripe', null],
  ])('at %s with the key %s makes one refund and is answered with it', async (processor, key) => {
    const transactionId = await newPayment(service, { processor });
    const headers = { prefer: 'respond-async', ...(key === null ? {} : { 'idempotency-key': key }) };
    const create = () =>
      service.call('POST', '/v1/refunds', {
        body: { transactionId, amount: 1_000, reason: 'other', processor },
        headers,
      });
    proxy.cutNextCall('create_refunds', arrives);
    const answer = await create();
    expect(proxy.isArmed).toBe(false);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.headers).not.toHaveProperty('idempotent-replayed');
    await waitFor('what was cut off to be carried out', () => proxy.underWay === 0);
    expect(await refundsOf(transactionId)).toMatchObject([{ id: answer.body.data.id }]);
    const { reserved } = await service.deps.db.payment.findFirstOrThrow({ where: { transactionId } });
    expect(reserved).toBe(1_000n);
    if (key === null) return;
    const repeated = await create();
    expect([repeated.status, repeated.body.data.id]).toEqual([200, answer.body.data.id]);
    expect(repeated.headers['idempotent-replayed']).toBe('true');
  });
});

test.each([`unknown-${process.pid}`, null])(
  'a creation of which nobody knows for long whether it was recorded is not called undone (key %s)',
  async (key) => {
    const transactionId = await newPayment(service);
    const create = () =>
      service.call('POST', '/v1/refunds', {
        body: { transactionId, amount: 1_000, reason: 'other' },
        headers: { prefer: 'respond-async', ...(key === null ? {} : { 'idempotency-key': key }) },
      });
    proxy.cutNextCall('create_refunds', 'later', { thenGone: true });
    const answer = await create();
    proxy.comeBack();
    expect([answer.status, answer.body.error.code]).toEqual([500, 'internal_error']);
    expect(answer.body.error.message).toMatch(/^It is not known whether/);
    await waitFor('what was cut off to be carried out', () => proxy.underWay === 0);
    expect(await refundsOf(transactionId)).toHaveLength(1);
    if (key === null) return;
    const repeated = await create();
    expect([repeated.status, repeated.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(await refundsOf(transactionId)).toMatchObject([{ id: repeated.body.data.id }]);
  },
);

test('nor is one whose payment is held when it asks what became of it', async () => {
  const transactionId = await newPayment(service);
  const create = () =>
    service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 1_000, reason: 'other' },
      headers: { prefer: 'respond-async' },
    });
  expect((await create()).status).toBe(200);
  const answer = await withClient(databaseUrl(), async (holder) => {
    await holder.query('begin');
    await holder.query('select from payment where transaction_id = $1 for update', [transactionId]);
    proxy.cutNextCall('create_refunds', 'at once');
    return await create();
  });
  expect([answer.status, answer.body.error.code]).toEqual([500, 'internal_error']);
  expect(answer.body.error.message).toMatch(/^It is not known whether/);
});

test.each(['at once', 'later'] as const)(
  'a cancellation whose connection breaks is not called undone, and its key tells when it is repeated (carried out %s)',
  async (arrives) => {
    const { id } = await createdRefund(service, 'stripe');
    const headers = { 'idempotency-key': `cancelled-${arrives.replace(' ', '-')}` };
    const cancel = () => service.call('POST', `/v1/refunds/${id}/cancel`, { headers });
    proxy.cutNextCall('cancel_refund', arrives);
    const answer = await cancel();
    expect([answer.status, answer.body.error.code]).toEqual([500, 'internal_error']);
    expect(answer.body.error.message).toMatch(/^It is not known whether/);
    await waitFor('what was cut off to be carried out', () => proxy.underWay === 0);
    const repeated = await cancel();
    expect([repeated.status, repeated.body.data?.status]).toEqual([200, 'cancelled']);
    expect(repeated.headers['idempotent-replayed']).toBe('true');
    await expectInvariants(service);
  },
);
