import { beforeAll, describe, expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { needsAttention } from '#shared/reconciliation/findings.ts';
import { requestResync } from '#shared/refunds/changes/work.ts';
import { dismissFlag } from '#shared/refunds/decisions/resolve.ts';
import { type ProcessorName, sandboxCredentials } from '../../sandbox/processors.ts';
import { endAtProcessor } from '../../support/processors/end-at-processor.ts';
import { findingsAbout, leftToRefund, work, workWhatIsDue } from '../../support/processors/reconciliation.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { completedRefund, createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { type RefundRecord, rowOf, timelineOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// No worker runs: each test takes a worker's steps itself.
const service = useService({ workers: 0 });
/** A processor that has none of the payments. */
const { sandbox: elsewhere } = useSandbox();

beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

/**
 * Reconciles twice, with a worker's steps after each: the second run has to find the same, and leave the refund and its
 * timeline as they are.
 * @returns the findings about the refund.
 */
async function findTwice(processor: ProcessorName, refundId: string) {
  const first = await findingsAbout(service, processor, { refundId });
  await workWhatIsDue(service, { id: refundId });
  const row = await rowOf(service, refundId);
  const timeline = await timelineOf(service, refundId);
  const second = await findingsAbout(service, processor, { refundId });
  await workWhatIsDue(service, { id: refundId });
  expect(second.map(({ kind, facts }) => [kind, facts])).toEqual(
    first.map(({ kind, facts }) => [kind, facts]),
  );
  expect(await timelineOf(service, refundId)).toEqual(timeline);
  const { leaseToken: _, work: __, ...after } = await rowOf(service, refundId);
  expect(row).toMatchObject(after);
  return second;
}

/** A worker reads the refund again, as after a webhook or a recheck. */
async function read(refund: Pick<RefundRecord, 'id'>): Promise<RefundRecord> {
  await requestResync(service.deps.db, refund);
  return await workWhatIsDue(service, refund);
}

async function dismiss(id: string): Promise<void> {
  const { kind } = await dismissFlag(service.deps, await rowOf(service, id), 'cli:ada', 'Known.');
  expect(kind).toBe('done');
}

/** Drives a refund that failed to one that is open again at its processor. */
async function reopen({ externalRefundId, processor }: RefundRecord): Promise<void> {
  const status = processor === 'stripe' ? 'pending' : 'settling';
  await service.sandbox.driveRefund(externalRefundId ?? '', { status });
}

describe.each(['stripe', 'braintree'] as const)('reconciliation with %s', (processor) => {
  test('does not flag a dismissed discrepancy again by any reader or in any state', async () => {
    const refund = await completedRefund(service, processor);
    const { id: refundId, externalRefundId } = refund;
    await endAtProcessor(service, refund, 'failed');
    expect((await read(refund)).status).toBe('failed');
    await endAtProcessor(service, refund, 'succeeded');
    // Found by a recheck, before any run has reported it.
    expect((await read(refund)).flagReason).toBe('moved_after_end');
    await dismiss(refundId);
    const timeline = await timelineOf(service, refundId);
    const dismissed = [{ kind: 'moved_after_end', externalRefundId, action: 'dismissed' }];
    const findings = await findTwice(processor, refundId);
    expect(findings).toMatchObject(dismissed);
    expect(findings.some(needsAttention)).toBe(false);
    await reopen(refund);
    expect((await read(refund)).flaggedAt).toBeNull();
    expect(await findTwice(processor, refundId)).toMatchObject(dismissed);
    expect(await timelineOf(service, refundId)).toEqual(timeline);
    expect((await rowOf(service, refundId)).work).toBeNull();
    await endAtProcessor(service, refund, 'failed');
    await expectInvariants(service);
  });

  test('flags a refund that the processor does not have, until it has it again', async () => {
    const { id: organizationId } = service.organization;
    const refund = await completedRefund(service, processor);
    const pointAt = (url: string) =>
      setProcessorAccount(service.deps, {
        organizationId,
        environment: 'test',
        processor,
        credentials: sandboxCredentials('test', url)[processor],
        actor: 'test',
      });
    await pointAt(elsewhere.url);
    const { externalRefundId } = refund;
    const findings = await findTwice(processor, refund.id);
    expect(findings).toMatchObject([{ kind: 'missing_there', action: 'resync_requested', externalRefundId }]);
    expect(findings.every(needsAttention)).toBe(true);
    expect(await rowOf(service, refund.id)).toMatchObject({
      status: 'completed',
      flagReason: 'missing_there',
      flagFacts: { externalRefundId },
    });
    await pointAt(service.sandboxUrl);
    expect(await findingsAbout(service, processor, { refundId: refund.id })).toEqual([]);
    expect((await read(refund)).flaggedAt).toBeNull();
    await expectInvariants(service);
  });
});

// Here money did move twice, so the invariants of the tests above do not hold.
describe.each(['stripe', 'braintree'] as const)('an extra refund at %s', (processor) => {
  /** A refund that the processor has accepted, and an extra one there under the same refund id; both are open. */
  async function withExtra() {
    const accepted = await work(service, await createdRefund(service, processor));
    const { id: refundId, transactionId } = accepted;
    const extra = await refundDirectly(service, { processor, transactionId, amount: 1_000, refundId });
    // A list may lack what has just been made, at the edge of a second.
    const found = await waitFor('the other one to be listed', async () => {
      const findings = await findingsAbout(service, processor, { refundId });
      return findings.find(({ externalRefundId }) => externalRefundId === extra) ?? null;
    });
    expect(found).toMatchObject({ kind: 'extra_refund', action: 'flagged' });
    return { accepted, extra };
  }

  const flagged = (extra: string) => ({
    flaggedAt: expect.any(Date),
    flagReason: 'extra_refund',
    flagFacts: expect.objectContaining({ externalRefundId: extra, amount: 1_000 }),
  });

  test('stays flagged whatever becomes of our refund', async () => {
    const { accepted, extra } = await withExtra();
    expect(await leftToRefund(service, accepted.transactionId)).toBe(6_500);
    const before = await timelineOf(service, accepted.id);
    expect(await work(service, accepted)).toMatchObject({ status: 'processing', ...flagged(extra) });
    expect(await timelineOf(service, accepted.id)).toEqual(before);
    await endAtProcessor(service, accepted, 'succeeded');
    expect(await work(service, accepted)).toMatchObject({ status: 'completed', ...flagged(extra) });
    expect(await read(accepted)).toMatchObject(flagged(extra));
    await endAtProcessor(service, accepted, 'failed');
    expect(await read(accepted)).toMatchObject({ status: 'failed', ...flagged(extra) });
  });

  test('is flagged after the one before it is dismissed', async () => {
    const { accepted, extra } = await withExtra();
    const { id: refundId, transactionId } = accepted;
    const second = await refundDirectly(service, { processor, transactionId, amount: 500, refundId });
    await waitFor('both to be listed', async () => {
      const found = await findingsAbout(service, processor, { refundId });
      expect(found.every(needsAttention)).toBe(true);
      return found.length === 2;
    });
    expect((await rowOf(service, refundId)).flagFacts).toMatchObject({ externalRefundId: extra });
    await dismiss(refundId);
    await findingsAbout(service, processor, { refundId });
    expect(await rowOf(service, refundId)).toMatchObject({
      flagReason: 'extra_refund',
      flagFacts: { externalRefundId: second },
    });
  });
});
