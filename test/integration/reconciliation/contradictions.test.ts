import { beforeAll, describe, expect, test } from 'vitest';
import { readAttention } from '../../../api/cli/reports/refund-attention.ts';
import { setProcessorAccount } from '../../../shared/processors/accounts/manage-accounts.ts';
import { needsPerson } from '../../../shared/reconciliation/act.ts';
import { keepRefund } from '../../../shared/refunds/decisions/resolve.ts';
import { requestResync } from '../../../shared/refunds/lifecycle/resync.ts';
import {
  completedRefund,
  createRefund,
  findingsAbout,
  leftToRefund,
  letFail,
  type ProcessorName,
  settle,
  work,
  workWhatIsDue,
} from '../../support/processors/reconciliation.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { type RefundRecord, rowOf, timelineOf } from '../../support/refunds/refund-records.ts';
import { sandboxCredentials } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// No worker runs: a test takes the steps itself, so that nothing is flagged before it is looked at.
const service = useService({ workers: 0 });
/** Has never heard of any payment. */
const { sandbox: elsewhere } = useSandbox();

beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

/**
 * Reconciles twice, with a worker's steps after each: the second time has to find the same in the same words, and leave
 * the refund and its timeline as they are.
 * @returns the findings about the refund.
 */
async function findTwice(processor: ProcessorName, refundId: string) {
  const first = await findingsAbout(service, processor, { refundId });
  await workWhatIsDue(service, { id: refundId });
  const row = await rowOf(service, refundId);
  const timeline = await timelineOf(service, refundId);
  const second = await findingsAbout(service, processor, { refundId });
  await workWhatIsDue(service, { id: refundId });
  expect(second.map(({ kind, message }) => [kind, message])).toEqual(
    first.map(({ kind, message }) => [kind, message]),
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

/** A person has looked at the refund, and lets it stand. */
async function letStand(id: string): Promise<void> {
  const { kind } = await keepRefund(service.deps, await rowOf(service, id), 'cli:somebody', 'It may stand.');
  expect(kind).toBe('done');
}

describe.each(['stripe', 'braintree'] as const)('a person is shown, once, at %s', (processor) => {
  test('a refund that failed here and moved there, which counts as refunded elsewhere', async () => {
    const refund = await completedRefund(service, processor);
    await letFail(service, refund);
    await findingsAbout(service, processor, { refundId: refund.id });
    expect((await workWhatIsDue(service, refund)).status).toBe('failed');
    await settle(service, refund);
    const findings = await findTwice(processor, refund.id);
    expect(findings).toMatchObject([{ kind: 'moved_after_end', action: 'review_requested' }]);
    expect(findings.every(needsPerson)).toBe(true);
    expect(await rowOf(service, refund.id)).toMatchObject({ status: 'failed', flaggedAt: expect.any(Date) });
    expect(await leftToRefund(service, refund.transactionId)).toBe(7_500);

    await letStand(refund.id);
    const dealtWith = await findingsAbout(service, processor, { refundId: refund.id });
    expect(dealtWith).toMatchObject([{ kind: 'moved_after_end', action: 'dealt_with' }]);
    expect(dealtWith.some(needsPerson)).toBe(false);
    expect((await workWhatIsDue(service, refund)).flaggedAt).toBeNull();
    const { detail } = await service.deps.db.refundEvent.findFirstOrThrow({
      where: { refundId: refund.id, type: 'review.kept' },
    });
    const { externalRefundId } = refund;
    expect(detail).toMatchObject({ kind: 'moved_after_end', externalRefundId });
    const status = processor === 'stripe' ? 'pending' : 'settling';
    await service.sandbox.driveRefund(externalRefundId ?? '', { status });
    const inOtherWords = await findingsAbout(service, processor, { refundId: refund.id });
    expect(inOtherWords).toMatchObject([{ kind: 'moved_after_end', action: 'dealt_with' }]);
    expect(inOtherWords[0]?.message).not.toBe(dealtWith[0]?.message);
    expect((await rowOf(service, refund.id)).work).toBeNull();
    await letFail(service, refund);
    await expectInvariants(service);
  });

  test('a refund that failed here and moved there, whoever finds it first', async () => {
    const refund = await completedRefund(service, processor);
    const { id: refundId, externalRefundId } = refund;
    await letFail(service, refund);
    expect((await read(refund)).status).toBe('failed');
    await settle(service, refund);
    // No run has told of it when the person decides.
    expect((await read(refund)).flaggedAt).not.toBeNull();
    await letStand(refundId);
    const dealtWith = [{ kind: 'moved_after_end', externalRefundId, action: 'dealt_with' }];
    const timeline = await timelineOf(service, refundId);
    expect(await findTwice(processor, refundId)).toMatchObject(dealtWith);
    const status = processor === 'stripe' ? 'pending' : 'settling';
    await service.sandbox.driveRefund(externalRefundId ?? '', { status });
    expect((await read(refund)).flaggedAt).toBeNull();
    await requestResync(service.deps.db, refund);
    expect(await findTwice(processor, refundId)).toMatchObject(dealtWith);
    expect(await timelineOf(service, refundId)).toEqual(timeline);
    await letFail(service, refund);
    await expectInvariants(service);
  });

  test('what has failed since they let its amount stand, when that moves after all', async () => {
    const refund = await completedRefund(service, processor);
    const { id: refundId, transactionId } = refund;
    await service.deps.db.payment.updateMany({ where: { transactionId }, data: { reserved: 2_400n } });
    await service.deps.db.refund.update({ where: { id: refundId }, data: { amount: 2_400n } });
    expect((await read(refund)).flaggedAt).not.toBeNull();
    await letStand(refundId);
    const found = { kind: 'amount_differs', action: 'dealt_with' };
    expect(await findTwice(processor, refundId)).toMatchObject([found]);
    await letFail(service, refund);
    expect((await read(refund)).status).toBe('failed');
    await settle(service, refund);
    expect(await findTwice(processor, refundId)).toMatchObject([{ ...found, action: 'review_requested' }]);
    expect((await rowOf(service, refundId)).flagReason).toContain('It is failed here');
    await letStand(refundId);
    expect(await findTwice(processor, refundId)).toMatchObject([found]);
    expect((await read(refund)).flaggedAt).toBeNull();
    await letFail(service, refund);
  });

  test('a refund of another amount than was asked, which stays completed', async () => {
    const refund = await completedRefund(service, processor);
    const setAmount = async (amount: bigint) => {
      const { transactionId } = refund;
      await service.deps.db.payment.updateMany({ where: { transactionId }, data: { reserved: amount } });
      await service.deps.db.refund.update({ where: { id: refund.id }, data: { amount } });
    };
    await setAmount(2_400n);
    const findings = await findTwice(processor, refund.id);
    expect(findings).toMatchObject([{ kind: 'amount_differs', action: 'review_requested' }]);
    expect(findings[0]?.message).toMatch(/24\.00 USD.*25\.00 USD/);
    expect(await rowOf(service, refund.id)).toMatchObject({
      status: 'completed',
      flagReason: expect.stringContaining('25.00 USD'),
    });
    await setAmount(2_500n);
    await expectInvariants(service);
  });

  test('a refund that the processor does not have, and nothing is done about it', async () => {
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
    const findings = await findTwice(processor, refund.id);
    expect(findings).toMatchObject([
      { kind: 'missing_there', action: 'review_requested', externalRefundId: refund.externalRefundId },
    ]);
    expect(findings.every(needsPerson)).toBe(true);
    expect(findings[0]?.message).toContain('credentials');
    expect(await rowOf(service, refund.id)).toMatchObject({
      status: 'completed',
      flagReason: expect.stringContaining('no longer knows'),
    });
    await pointAt(service.sandboxUrl);
    expect(await findingsAbout(service, processor, { refundId: refund.id })).toEqual([]);
    await expectInvariants(service);
  });
});

// Here money did move twice, so that the invariants of the tests above no longer hold.
describe.each(['stripe', 'braintree'] as const)('a person is shown, once, also at %s', (processor) => {
  test('a second refund under the name of one of ours, which counts as refunded elsewhere', async () => {
    const refund = await completedRefund(service, processor);
    const { id: refundId, transactionId } = refund;
    const extra = await refundDirectly(service, {
      processor,
      transactionId,
      amount: 1_000,
      refundId: refundId,
    });
    const findings = await findTwice(processor, refundId);
    expect(findings).toMatchObject([{ kind: 'extra_refund', action: 'flagged', externalRefundId: extra }]);
    expect((await rowOf(service, refundId)).flagReason).toBe(findings[0]?.message);
    expect(await leftToRefund(service, transactionId)).toBe(6_500);

    await letStand(refundId);
    const dealtWith = await findingsAbout(service, processor, { refundId });
    expect(dealtWith).toMatchObject([{ kind: 'extra_refund', action: 'dealt_with' }]);
    expect(dealtWith.some(needsPerson)).toBe(false);
    expect((await rowOf(service, refundId)).flaggedAt).toBeNull();
  });

  /** One that the processor has accepted, and another one under its name; both are open there. */
  async function withExtra() {
    const accepted = await work(service, await createRefund(service, processor));
    const { id: refundId, transactionId } = accepted;
    const extra = await refundDirectly(service, { processor, transactionId, amount: 1_000, refundId });
    // A list may lack what has just been made, at the edge of a second.
    const found = await waitFor('the other one to be listed', async () => {
      const findings = await findingsAbout(service, processor, { refundId });
      return findings.find(({ externalRefundId }) => externalRefundId === extra) ?? null;
    });
    expect(found).toMatchObject({ kind: 'extra_refund', action: 'flagged' });
    return { accepted, extra, message: found.message };
  }

  test('a second refund under the name of ours, until they decide, whatever is read of ours meanwhile', async () => {
    const { accepted, extra, message } = await withExtra();
    const flagged = { flaggedAt: expect.any(Date), flagReason: message, extraRefundId: extra };
    const before = await timelineOf(service, accepted.id);
    expect(await work(service, accepted)).toMatchObject({ status: 'processing', ...flagged });
    expect(await timelineOf(service, accepted.id)).toEqual(before);
    await settle(service, accepted);
    expect(await work(service, accepted)).toMatchObject({ status: 'completed', ...flagged });
    expect(await read(accepted)).toMatchObject(flagged);
    await letFail(service, accepted);
    expect(await read(accepted)).toMatchObject({ status: 'failed', ...flagged });
  });

  test('a second refund under the name of one that is processing, which goes on after they let it stand', async () => {
    const { accepted } = await withExtra();
    const { refunds } = await readAttention(service.deps.db, service.organization.id);
    const next = `refund resolve ${accepted.id} --keep --reason '...'`;
    expect(refunds.find(({ refund }) => refund.id === accepted.id)).toMatchObject({ next });
    await letStand(accepted.id);
    const dealtWith = { kind: 'extra_refund', action: 'dealt_with' };
    expect(await findingsAbout(service, processor, { refundId: accepted.id })).toMatchObject([dealtWith]);
    await settle(service, accepted);
    expect(await work(service, accepted)).toMatchObject({ status: 'completed', flaggedAt: null });
    expect(await findingsAbout(service, processor, { refundId: accepted.id })).toMatchObject([dealtWith]);
    expect((await rowOf(service, accepted.id)).flaggedAt).toBeNull();
  });

  test('each of several refunds under the name of ours, one after the other', async () => {
    const { accepted, extra } = await withExtra();
    const { id: refundId, transactionId } = accepted;
    const second = await refundDirectly(service, { processor, transactionId, amount: 500, refundId });
    await waitFor('both to be listed', async () => {
      const found = await findingsAbout(service, processor, { refundId });
      expect(found.every(needsPerson)).toBe(true);
      return found.length === 2;
    });
    expect((await rowOf(service, refundId)).extraRefundId).toBe(extra);
    await letStand(refundId);
    await findingsAbout(service, processor, { refundId });
    expect((await rowOf(service, refundId)).extraRefundId).toBe(second);
  });

  test('what is wrong with a refund itself, as soon as they have dealt with the second one', async () => {
    const { accepted, extra } = await withExtra();
    await settle(service, accepted);
    expect((await work(service, accepted)).status).toBe('completed');
    await service.deps.db.refund.update({
      where: { id: accepted.id },
      data: { externalRefundId: 're_gone' },
    });
    expect((await read(accepted)).extraRefundId).toBe(extra);
    await letStand(accepted.id);
    expect(await workWhatIsDue(service, accepted)).toMatchObject({
      flagReason: expect.stringContaining('no longer knows re_gone'),
      extraRefundId: null,
    });
    expect(await timelineOf(service, accepted.id)).toContain('review.flagged');
  });
});
