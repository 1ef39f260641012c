import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { policySchema } from '../../../shared/policies/policy.ts';
import { previewPolicies } from '../../../shared/policies/preview.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { cancelRefund } from '../../../shared/refunds/lifecycle/cancel.ts';
import { createRefund, findByKey } from '../../../shared/refunds/lifecycle/create.ts';
import { advanceRefund } from '../../../worker/advance/advance-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { useService } from '../../support/use-service.ts';

// One connection, so that the session whose plans are kept is the one that counts.
const service = useService({ workers: 0, settings: { DATABASE_POOL_SIZE: 1 } });

/** How often each table was read from its first row to its last, and the work by its due time, where claims would meet all due work. */
async function wholeReads(): Promise<Record<string, number>> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const rows = await db.$queryRaw<{ relname: string; scans: number }[]>`
    SELECT relname, seq_scan::int AS scans FROM pg_stat_user_tables
    WHERE relname IN ('payment', 'refund', 'refund_work', 'refund_event')
    UNION ALL
    SELECT indexrelname, idx_scan::int FROM pg_stat_user_indexes WHERE indexrelname = 'refund_work_due'`;
  return Object.fromEntries(rows.map(({ relname, scans }) => [relname, scans]));
}

test('refunds are created and sent by key, although the planner last saw the tables empty', async () => {
  await service.ownerDb.$executeRaw`ANALYZE`;
  const payments = await Promise.all(
    Array.from({ length: 5 }, () => newPayment(service, { processor: 'stripe', amount: 100_000 })),
  );
  const { payment: _before, ...before } = await wholeReads();
  for (let round = 0; round < 6; round += 1) {
    const ids = await Promise.all(payments.map(create));
    for (const id of ids) await advanceRefund(service.deps, id);
  }
  const { payment, ...after } = await wholeReads();
  expect(after).toEqual(before);
  // When a creation decides, it may read a small table of payments as a whole, for the payment and its alias.
  expect(payment).toBeLessThanOrEqual(60);
});

test('the refunds of a person and their keys are summed up by index, although the planner last saw the tables empty', async () => {
  const { db } = service.deps;
  const { id: organizationId, keys } = service.organization;
  const policies = [
    { name: 'All', priority: 1, approvalAbovePerRequesterDay: { api: 1_000_000, dashboard: 1_000_000 } },
  ];
  await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
  const actor = 'user:usr_person';
  await db.apiKey.update({ where: { id: keys.test.id }, data: { createdBy: actor } });
  const transactionId = await newPayment(service, { processor: 'stripe', amount: 100_000 });
  const { payment: _before, ...before } = await wholeReads();
  for (let round = 0; round < 8; round += 1) {
    await create(transactionId);
    await createRefund(
      service.deps,
      refundRequest(service, transactionId, { apiKey: null, initiatedBy: 'dashboard', actor }),
    );
  }
  const { payment: _after, ...after } = await wholeReads();
  expect(after).toEqual(before);
});

test('events of processors are compared and recorded by key, although the planner has not seen the refunds', async () => {
  const { db } = service.deps;
  const { id: organizationId, keys } = service.organization;
  await db.$executeRaw`
    INSERT INTO refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
      initiated_by, requester, created_at, updated_at, api_key_id, external_refund_id)
    SELECT 'ref_other' || n, organization_id, environment, 'ch_other', payment.id, processor, 1, 'usd', 'other',
      'completed', 'api', 'key:other', service_time(), service_time(), ${keys.test.id}, 're_other' || n
    FROM (SELECT * FROM payment WHERE organization_id = ${organizationId} AND amount IS NOT NULL LIMIT 1) AS payment,
      generate_series(1, 1000) AS n`;
  const account = await db.processorAccount.findFirstOrThrow({
    where: { organizationId, environment: 'test', processor: 'stripe' },
  });
  const events = (round: number) => [
    {
      external_event_id: `evt_a${round}`,
      external_refund_id: 're_other5',
      processor_status: `status ${round}`,
    },
    { external_event_id: `evt_b${round}`, refund_id: 'ref_other6', external_refund_id: 're_other6' },
    { external_event_id: `evt_c${round}`, external_refund_id: 're_elsewhere', transaction_ids: ['ch_other'] },
  ];
  const [scansBefore, entriesBefore] = [await wholeReads(), await entriesRead()];
  for (let round = 0; round < 8; round += 1) {
    const items = events(round).map((event) => ({
      ...event,
      account_id: account.id,
      type: 'refund.updated',
    }));
    const outcomes = await db.$queryRaw`
      SELECT item, outcome, to_resync FROM receive_processor_events(${JSON.stringify(items)}::jsonb) ORDER BY item`;
    expect(outcomes).toEqual([
      { item: 0, outcome: 'recorded', to_resync: ['ref_other5'] },
      { item: 1, outcome: 'agrees', to_resync: [] },
      { item: 2, outcome: 'agrees', to_resync: [] },
    ]);
  }
  expect(await wholeReads()).toEqual(scansBefore);
  expect((await entriesRead()) - entriesBefore).toBeLessThan(200);
});

test('a preview reads the refunds of a requester once, not for each of the refunds that it evaluates', async () => {
  const { db } = service.deps;
  const { id: organizationId } = service.organization;
  const policy = policySchema.parse({
    name: 'Day',
    priority: 1,
    velocity: { perRequesterDay: { count: 2_000 } },
  });
  const policies = { current: [policy], edited: [policy] };
  const before = await entriesRead();
  const { skipped } = await previewPolicies(db, { organizationId, environment: 'test' }, policies);
  // Their payment has too many refunds for a verdict, which does not matter here.
  expect(skipped).toBe(25);
  expect((await entriesRead()) - before).toBeLessThan(5_000);
});

test('a key is looked up by its own indexes, although the planner has not seen the refunds', async () => {
  const { organization, deps } = service;
  const [first = '', second = ''] = await Promise.all(
    [1, 2].map(async () => await create(await newPayment(service))),
  );
  const owner = { organizationId: organization.id, environment: 'test', actor: 'user:usr_person' } as const;
  const before = await entriesRead();
  for (let round = 0; round < 8; round += 1) {
    const idempotencyKey = `cancel-${round}`;
    await cancelRefund(deps, { ...owner, refundId: first, idempotencyKey });
    const reused = { ...owner, refundId: second, idempotencyKey: 'cancel-0' };
    await expect(cancelRefund(deps, reused)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    const idempotency = { key: idempotencyKey, fingerprint: Buffer.alloc(32) };
    expect(await findByKey(deps, refundRequest(service, 'ch_unused', { idempotency })).catch(codeOf)).toBe(
      round === 0 ? 'idempotency_key_reused' : null,
    );
  }
  // Read as a whole, the thousand refunds would come to 24,000 entries.
  expect((await entriesRead()) - before).toBeLessThan(2_000);
});

/** How many entries of the indexes of refunds and keys were read. */
async function entriesRead(): Promise<number> {
  const { db } = service.deps;
  await db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  const [row] = await db.$queryRaw<{ count: bigint }[]>`
    SELECT sum(idx_tup_read)::bigint AS count FROM pg_stat_user_indexes WHERE relname IN ('refund', 'api_key')`;
  return Number(row?.count);
}

function codeOf(error: unknown): unknown {
  return error instanceof ServiceError ? error.code : error;
}

async function create(transactionId: string): Promise<string> {
  const { body } = await service.call('POST', '/v1/refunds', {
    body: { transactionId, amount: 1, reason: 'other' },
    headers: { prefer: 'respond-async', 'idempotency-key': randomUUID() },
  });
  return body.data.id;
}
