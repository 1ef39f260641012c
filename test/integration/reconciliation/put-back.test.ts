import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { requestDigestOf } from '#shared/platform/secrets/request-digest.ts';
import { needsAttention } from '#shared/reconciliation/findings.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { adminCliOf } from '../../support/processes/admin-cli.ts';
import { windowAroundNow } from '../../support/processors/describe/listing.ts';
import { endAtProcessor } from '../../support/processors/end-at-processor.ts';
import { leftToRefund, reconcile, work } from '../../support/processors/reconciliation.ts';
import { createdRefund, resolve } from '../../support/refunds/flagged-refunds.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { flagByHand } from '../../support/refunds/refund-work.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// A recovery of a database that never had the refunds of these payments.
const service = useService({ workers: 0 });

beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

test('requires a recovery at once, whatever else holds the open refunds', async () => {
  const { id } = await createdRefund(service, 'stripe');
  await withClient(service.databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT FROM refund_work WHERE refund_id = $1 FOR UPDATE', [id]);
    await requireRecovery(service.deps.db);
    await client.query('ROLLBACK');
  });
  await endRecovery(service.deps.db);
  expect((await rowOf(service, id)).work?.resyncRequestedAt).not.toBeNull();
});

test('until the recovery, a flagged refund that seems unsent is looked up before a person ends it', async () => {
  const { id: refundId, transactionId } = await createdRefund(service, 'stripe');
  const refund = await flagByHand(service, refundId, { reason: 'account_unusable', facts: {} });
  await refundDirectly(service, { processor: 'stripe', transactionId, amount: 2_500, refundId });
  await requireRecovery(service.deps.db);
  const failing = await resolve(service, refund, 'failed');
  await endRecovery(service.deps.db);
  expect(failing).toMatchObject({ kind: 'contradicted' });
});

test('a refund whose idempotency key another one has by now is put back without it', async () => {
  const processor = 'braintree';
  const headers = { 'idempotency-key': 'used-again' };
  const other = await newRefund(service, { processor }, { headers });
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const refundId = newId('ref');
  const transactionId = await newPayment(service, { processor });
  const name = `${refundId}.${requestDigestOf(owner, 'used-again')}`;
  await refundDirectly(service, { processor, transactionId, amount: 3_000, refundId: name });
  await reconcile(service, processor, { window: windowAroundNow(1), putsBack: true });
  expect(await rowOf(service, refundId)).toMatchObject({ status: 'processing', idempotencyKey: null });
  expect((await rowOf(service, other.id)).externalRefundId).toBeNull();
});

test.each(PROCESSORS)(
  'a refund that %s dates after the time of the database, whose clock is behind, is put back',
  async (processor) => {
    const refundId = newId('ref');
    const transactionId = await newPayment(service, { processor });
    await refundDirectly(service, { processor, transactionId, amount: 3_000, refundId });
    const setClock = (time: string) =>
      service.ownerDb.$executeRawUnsafe(
        `CREATE OR REPLACE FUNCTION service_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT ${time} $$`,
      );
    await setClock("date_trunc('milliseconds', clock_timestamp() - interval '10 minutes')");
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const { stderr } = await adminCliOf(service)(['recover', '--since', since]);
    await setClock("date_trunc('milliseconds', clock_timestamp())");
    expect(stderr).toContain('Recovery is complete.');
    expect((await rowOf(service, refundId)).status).toBe('processing');
  },
);

describe.each(PROCESSORS)('a recovery with %s', (processor) => {
  /** A refund of a payment of 100.00 that is at its processor alone, under a name of ours. */
  async function lost(transactionId: string, amount: number, refundId = newId('ref')) {
    const externalRefundId = await refundDirectly(service, { processor, transactionId, amount, refundId });
    return { refundId, externalRefundId, processor };
  }

  /** What a recovery finds about a payment. */
  async function recover(transactionId: string) {
    const { findings } = await reconcile(service, processor, { window: windowAroundNow(1), putsBack: true });
    return findings.filter((finding) => finding.transactionId === transactionId);
  }

  test('puts back one of two under one name, and flags it for the other one', async () => {
    const transactionId = await newPayment(service, { processor });
    const first = await lost(transactionId, 3_000);
    const second = await lost(transactionId, 3_000, first.refundId);
    const findings = await recover(transactionId);
    expect(findings.filter(needsAttention)).toMatchObject([
      { kind: 'extra_refund', refundId: first.refundId },
    ]);
    const { externalRefundId, flagReason, flagFacts } = await rowOf(service, first.refundId);
    expect(flagReason).toBe('extra_refund');
    const facts = flagFacts as { externalRefundId: string };
    const ids = [first.externalRefundId, second.externalRefundId];
    expect([externalRefundId, facts.externalRefundId].toSorted()).toEqual(ids.toSorted());
    // What is left is known without another reading.
    expect(await service.deps.db.payment.count({ where: { amount: null } })).toBe(0);
    expect(await leftToRefund(service, transactionId)).toBe(4_000);
  });

  test('puts back a refund whose payment a client reads meanwhile', async () => {
    const transactionId = await newPayment(service, { processor });
    const { refundId } = await lost(transactionId, 10_000);
    await service.sandbox.fault({
      ...{ processor, operation: 'transaction.get', kind: 'delay', delayMs: 1_500, transactionId },
    });
    const recovering = recover(transactionId);
    await waitFor('the reading', async () => (await service.sandbox.faults()).length === 0);
    expect(await leftToRefund(service, transactionId)).toBe(0);
    expect((await recovering).filter(needsAttention)).toEqual([]);
    expect((await rowOf(service, refundId)).status).toBe('processing');
    expect(await leftToRefund(service, transactionId)).toBe(0);
  });

  test('leaves what another installation refunded through the same account alone, and says so', async () => {
    const transactionId = await newPayment(service, { processor });
    const [refundId, organizationId] = [newId('ref'), newId('org')];
    await refundDirectly(service, { processor, transactionId, amount: 3_000, refundId, organizationId });
    const warn = vi.spyOn(service.deps.log, 'warn');
    onTestFinished(() => warn.mockRestore());
    expect(await recover(transactionId)).toEqual([]);
    expect(await service.deps.db.refund.count({ where: { id: refundId } })).toBe(0);
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ foreignCount: 1 }), expect.stringMatching(/^another installation/)],
    ]);
  });

  test('puts back a refund that failed, and the one that was made in its place', async () => {
    const transactionId = await newPayment(service, { processor });
    const failed = await lost(transactionId, 10_000);
    await endAtProcessor(service, failed, 'failed');
    const made = await lost(transactionId, 10_000);
    expect((await recover(transactionId)).filter(needsAttention)).toEqual([]);
    expect((await work(service, { id: failed.refundId })).status).toBe('failed');
    expect(await rowOf(service, made.refundId)).toMatchObject({ status: 'processing' });
    expect(await leftToRefund(service, transactionId)).toBe(0);
  });
});
