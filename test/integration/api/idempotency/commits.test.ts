import { expect, test, vi } from 'vitest';
import { useDelayedCommits } from '#test/support/faults/commit-delaying-proxy.ts';
import { createdRefund } from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { askForRefund, newRefund } from '#test/support/refunds/new-refund.ts';
import { lockPaymentByName, newPayment } from '#test/support/refunds/payments.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import type { ApiAnswer } from '#test/support/service.ts';
import { waitForLock, withClient } from '#test/support/stores/database-client.ts';
import { waitFor } from '#test/support/wait-for.ts';

const { databaseUrl, proxy, service } = useDelayedCommits();

const refundsOf = (transactionId: string) =>
  service.deps.db.refund.findMany({ where: { transactionId }, orderBy: { createdAt: 'asc' } });
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

/**
 * Lets a creation pass whose connection breaks, and holds its commit until its repetition is about to hold the payment; the
 * repetition then holds it after that commit.
 */
async function createAroundCommit(body: Parameters<typeof askForRefund>[1]): Promise<ApiAnswer> {
  const [commitGate, holdGate] = [4_711, 4_712];
  const types = 'text, text, jsonb, timestamptz';
  return await withClient(databaseUrl(), async (admin) => {
    await admin.query(`
      ALTER FUNCTION hold_payment(${types}) RENAME TO real_hold_payment;
      CREATE FUNCTION hold_payment(${types}) RETURNS payment LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_advisory_lock_shared(${holdGate}), pg_advisory_unlock_shared(${holdGate});
        RETURN real_hold_payment($1, $2, $3, $4);
      END $$;
      CREATE FUNCTION wait_to_commit() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(${commitGate}); RETURN NEW; END $$;
      CREATE TRIGGER wait_to_commit BEFORE INSERT ON refund_event FOR EACH ROW EXECUTE FUNCTION wait_to_commit()`);
    try {
      await admin.query('SELECT pg_advisory_lock($1)', [commitGate]);
      proxy.cutNext('create_refunds(', 'at once');
      const creating = askForRefund(service, body);
      await waitForLock(admin);
      await admin.query('SELECT pg_advisory_lock($1)', [holdGate]);
      await waitForLock(admin, 2);
      await admin.query('SELECT pg_advisory_unlock($1)', [commitGate]);
      await statementEnd();
      await admin.query('SELECT pg_advisory_unlock($1)', [holdGate]);
      return await creating;
    } finally {
      await admin.query(`
        DROP TRIGGER wait_to_commit ON refund_event;
        DROP FUNCTION wait_to_commit, hold_payment;
        ALTER FUNCTION real_hold_payment RENAME TO hold_payment`);
    }
  });
}

test.each([
  ['all of the payment', { amount: 10_000 }, {}],
  ['all that is left', { amount: undefined, remaining: true }, {}],
  ['as much as needs no approval', { amount: 4_000 }, { approvalAbove: { api: 5_000 } }],
  ['a part', { amount: 1_000 }, {}],
])(
  'a creation without a key that commits while its repetition holds the payment is one refund (%s)',
  async (_what, asked, policy) => {
    await storePolicies(service, policy);
    const transactionId = await newPayment(service);
    const answer = await createAroundCommit({ transactionId, ...asked });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(await refundsOf(transactionId)).toMatchObject([{ id: answer.body.data.id }]);
    await expectInvariants(service);
  },
);

test('a creation without a key that is decided again and commits late is one refund', async () => {
  // Which policy matches depends on what else is refunded of the payment.
  await storePolicies(service, { match: { amount: { min: 5_000 } } });
  const other = await newRefund(service, { amount: 2_000 });
  const { transactionId } = other;
  const payment = service.deps.lookups.payment.bind(service.deps.lookups);
  vi.spyOn(service.deps.lookups, 'payment').mockImplementationOnce(async (...given) => {
    const stored = await payment(...given);
    expect((await service.call('POST', `/v1/refunds/${other.id}/cancel`)).status).toBe(200);
    return stored;
  });
  proxy.cutNext('create_refunds(', 'later');
  const answer = await askForRefund(service, { transactionId, amount: 4_000 });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  await statementEnd();
  expect(await refundsOf(transactionId)).toMatchObject([
    { id: other.id, status: 'cancelled' },
    { id: answer.body.data.id, status: 'processing' },
  ]);
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
