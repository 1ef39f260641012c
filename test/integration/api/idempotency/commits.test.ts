import { expect, test } from 'vitest';
import { useDelayedCommits } from '#test/support/faults/commit-delaying-proxy.ts';
import { createdRefund } from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { askForRefund } from '#test/support/refunds/new-refund.ts';
import { lockPaymentByName, newPayment } from '#test/support/refunds/payments.ts';
import type { ApiAnswer } from '#test/support/service.ts';
import { withClient } from '#test/support/stores/database-client.ts';
import { waitFor } from '#test/support/wait-for.ts';

const { databaseUrl, proxy, service } = useDelayedCommits();

const refundsOf = (transactionId: string) => service.deps.db.refund.findMany({ where: { transactionId } });
const create = (transactionId: string, key: string | null = null) =>
  askForRefund(service, { transactionId }, { headers: key === null ? {} : { 'idempotency-key': key } });
const statementEnd = () => waitFor('the statement to end', () => proxy.underWay === 0);

function expectUnknown({ status, body: { error } }: ApiAnswer): void {
  expect([status, error.code]).toEqual([500, 'internal_error']);
  expect(error.message).toMatch(/^It is unknown whether/);
}

test.each([
  ['after', 'later', `late-${process.pid}`],
  ['before', 'at once', `soon-${process.pid}`],
  ['before', 'at once', null],
] as const)(
  'a creation that is committed %s its connection breaks creates one refund and returns it (%s, key %s)',
  async (_when, arrives, key) => {
    const transactionId = await newPayment(service);
    proxy.cutNext('create_refunds(', arrives);
    const answer = await create(transactionId, key);
    expect(proxy.isArmed).toBe(false);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.headers).not.toHaveProperty('idempotent-replayed');
    await statementEnd();
    expect(await refundsOf(transactionId)).toMatchObject([{ id: answer.body.data.id }]);
    if (key !== null) {
      const repeated = await create(transactionId, key);
      expect([repeated.status, repeated.body.data.id]).toEqual([200, answer.body.data.id]);
      expect(repeated.headers['idempotent-replayed']).toBe('true');
    }
    await expectInvariants(service);
  },
);

test.each([`unknown-${process.pid}`, null])(
  'a creation whose commit stays unknown gets 500, and its key returns the refund later (key %s)',
  async (key) => {
    const transactionId = await newPayment(service);
    proxy.cutNext('create_refunds(', 'later', { thenGone: true });
    const answer = await create(transactionId, key);
    proxy.comeBack();
    expectUnknown(answer);
    await statementEnd();
    expect(await refundsOf(transactionId)).toHaveLength(1);
    if (key === null) return;
    const repeated = await create(transactionId, key);
    expect([repeated.status, repeated.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(await refundsOf(transactionId)).toMatchObject([{ id: repeated.body.data.id }]);
  },
);

test('a creation whose commit cannot be looked up because the payment is locked gets 500', async () => {
  const transactionId = await newPayment(service);
  expect((await create(transactionId)).status).toBe(200);
  const answer = await withClient(databaseUrl(), async (holder) => {
    await holder.query('begin');
    await holder.query(lockPaymentByName, [transactionId]);
    proxy.cutNext('create_refunds(', 'at once');
    return await create(transactionId);
  });
  expectUnknown(answer);
});

test.each(['at once', 'later'] as const)(
  'a cancellation whose connection breaks gets 500, and its key returns the outcome (committed %s)',
  async (arrives) => {
    const { id } = await createdRefund(service, 'stripe');
    const headers = { 'idempotency-key': `cancelled-${arrives.replace(' ', '-')}` };
    const cancel = () => service.call('POST', `/v1/refunds/${id}/cancel`, { headers });
    proxy.cutNext('cancel_refund(', arrives);
    expectUnknown(await cancel());
    await statementEnd();
    const repeated = await cancel();
    expect([repeated.status, repeated.body.data?.status]).toEqual([200, 'cancelled']);
    expect(repeated.headers['idempotent-replayed']).toBe('true');
    await expectInvariants(service);
  },
);
