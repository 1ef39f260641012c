import { afterEach, describe, expect, test, vi } from 'vitest';
import { readAttention } from '#api/cli/reports/refund-attention.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { adminCliOf, onlyLine } from '#test/support/processes/admin-cli.ts';
import { useStripeAccount } from '#test/support/processors/stripe-account.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import {
  completedRefund,
  createdRefund,
  flaggedUnknown,
  reviewed,
  useServiceThatFlags,
} from '#test/support/refunds/flagged-refunds.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { refundDirectly } from '#test/support/refunds/refund-directly.ts';
import { makeDue, type RefundRecord, rowOf, timelineOf } from '#test/support/refunds/refund-records.ts';
import { askToCancel } from '#test/support/refunds/refund-work.ts';

const service = useServiceThatFlags();
const stripe = useStripeAccount(service);
const admin = adminCliOf(service);

afterEach(() => expectInvariants(service));

async function listedAs({ id }: RefundRecord) {
  const { refunds } = await readAttention(service.deps.db, service.organization.id);
  return refunds.find(({ refund }) => refund.id === id);
}

test('lists an outcome that is unknown for too long with since when, why, and the next command', async () => {
  const flagged = await flaggedUnknown(service, 'stripe', 'reset');
  expect(await listedAs(flagged)).toMatchObject({
    since: flagged.flaggedAt,
    why: expect.stringContaining('unknown whether Stripe has this refund'),
    next: `refund resolve ${flagged.id} --as ... --reason '...'`,
  });
  await service.deps.db.processorAccount.updateMany({
    where: { organizationId: service.organization.id, processor: 'braintree', environment: 'test' },
    data: { misconfiguredAt: new Date() },
  });
  const { stdout } = await admin(['refund', 'attention']);
  expect(stdout).toMatch(
    new RegExp(`^${flagged.id} .* refund resolve ${flagged.id} --as \\.\\.\\. --reason '\\.\\.\\.'$`, 'm'),
  );
  expect(stdout).toMatch(
    /^acc_\S+ .* account set --organization \S+ --environment test --processor braintree$/m,
  );
  await service.deps.db.processorAccount.updateMany({ data: { misconfiguredAt: null } });
});

test('flags a refund whose settlement cannot be read, until the processor answers', async () => {
  const { id } = await createdRefund(service, 'stripe');
  await advanceRefund(service.deps, id);
  await service.sandbox.fault({ processor: 'stripe', operation: 'refund.get', kind: 'error-503' });
  const flagged = await reviewed(service, id);
  expect(flagged.flagReason).toBe('no_answer');
  expect(await timelineOf(service, id)).toContain('settlement.flagged');
  const answered = await reviewed(service, id);
  expect(answered).toMatchObject({ flaggedAt: null, retryingSince: null });
});

test('lists a discrepancy of an ended refund until the processor agrees again', async () => {
  const refund = await completedRefund(service, 'stripe');
  await service.deps.db.$executeRaw`UPDATE refund SET external_refund_id = 're_gone' WHERE id = ${refund.id}`;
  await reviewed(service, refund.id);
  expect(await listedAs(refund)).toMatchObject({
    why: expect.stringContaining('Stripe does not have re_gone'),
    next: `refund resolve ${refund.id} --dismiss --reason '...'`,
  });
  const { externalRefundId } = refund;
  await service.deps.db
    .$executeRaw`UPDATE refund SET external_refund_id = ${externalRefundId} WHERE id = ${refund.id}`;
  expect((await reviewed(service, refund.id)).flaggedAt).toBeNull();
  expect((await timelineOf(service, refund.id)).at(-1)).toBe('review.agreed');
});

test('resolves a refund on the command line, or says why not', async () => {
  const flagged = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
  const command = ['refund', 'resolve', flagged.id, '--reason', 'They never had it'];
  const undecided = await admin(command);
  expect(undecided.code).toBe(2);
  expect(undecided.stderr).toContain('--as <status> or --dismiss');
  const refused = await admin([...command, '--as', 'failed']);
  expect(refused.code).toBe(1);
  expect(onlyLine(refused.stderr)).toMatch(/as pending, .*--force.* refunded twice\. Nothing was changed\.$/);
  const [moved] = await service.sandbox.refunds({ transactionId: flagged.transactionId });
  await service.sandbox.driveRefund(moved?.id ?? '', { status: 'failed' });
  const resolved = await admin([...command, '--as', 'failed']);
  expect(resolved).toMatchObject({ code: 0, stderr: `${flagged.id} is failed.\n` });
});

test('dismisses a flag on the command line, for good', async () => {
  const refund = await completedRefund(service, 'stripe');
  await service.deps.db.$executeRaw`UPDATE refund SET external_refund_id = 're_gone' WHERE id = ${refund.id}`;
  await reviewed(service, refund.id);
  const kept = await admin(['refund', 'resolve', refund.id, '--dismiss', '--reason', 'They archived it']);
  expect(kept).toMatchObject({
    code: 0,
    stderr: `Dismissed the flag of ${refund.id}, which stays completed.\n`,
  });
  expect((await reviewed(service, refund.id)).flaggedAt).toBeNull();
});

test('rechecks a refund on request, with an entry in the audit log', async () => {
  const { id } = await createdRefund(service, 'stripe');
  await advanceRefund(service.deps, id);
  const { externalRefundId } = await rowOf(service, id);
  await service.sandbox.driveRefund(externalRefundId ?? '', { status: 'succeeded' });
  await advanceRefund(service.deps, id);
  expect((await rowOf(service, id)).status).toBe('processing');
  expect((await admin(['refund', 'recheck', id])).code).toBe(0);
  await advanceRefund(service.deps, id);
  expect((await rowOf(service, id)).status).toBe('completed');
  expect(await auditOf(service, id)).toMatchObject([
    { action: 'refund.rechecked', actor: expect.stringMatching(/^cli:/) },
  ]);
});

describe.each([
  {
    kind: 'unavailable',
    failure: { code: '429', message: 'Slower' },
    retryAfterMs: 60_000,
    rateLimited: true,
  },
  { kind: 'misconfigured', failure: { code: '401', message: 'Who?' } },
] as const)('a second reading that is $kind', (answer) => {
  const noted = [answer.kind === 'unavailable', answer.kind === 'misconfigured'];
  const isThrottled = async () => {
    const { throttledUntil } = await stripe.read();
    return throttledUntil !== null && throttledUntil > new Date();
  };
  const unthrottle = () => service.deps.db.processorAccount.updateMany({ data: { throttledUntil: null } });

  /** The processor answers this to reads of refunds, and everything else as usual. */
  async function answerReadings(): Promise<void> {
    const kind = processorKind('stripe');
    const connect = kind.connect.bind(kind);
    const reading = async () => answer;
    vi.spyOn(kind, 'connect').mockImplementation((credentials) =>
      Object.assign(connect(credentials), { findRefund: reading, getRefund: reading }),
    );
    // Connected anew.
    await stripe.setKey('sk_test_sandbox');
  }

  afterEach(async () => {
    vi.restoreAllMocks();
    await unthrottle();
  });

  test('is recorded on the account when it follows a rejection', async () => {
    await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'rate-limit' });
    const { id, transactionId } = await createdRefund(service, 'stripe');
    await advanceRefund(service.deps, id);
    await unthrottle();
    await makeDue(service, id);
    const all = await refundDirectly(service, { processor: 'stripe', transactionId, amount: 10_000 });
    await answerReadings();
    await advanceRefund(service.deps, id);
    expect(await timelineOf(service, id)).toContain('attempt.unknown');
    expect([await isThrottled(), await stripe.isMarked()]).toEqual(noted);
    await service.sandbox.driveRefund(all, { status: 'failed' });
  });
});

test('does not take the void of one refund for that of another, which was cancelled before', async () => {
  const transactionId = await newPayment(service, {
    processor: 'braintree',
    status: 'submitted_for_settlement',
  });
  const whole = { transactionId, amount: 10_000 };
  const cancelled = await createdRefund(service, 'braintree', whole);
  await askToCancel(service, cancelled);
  const voiding = await createdRefund(service, 'braintree', whole);
  await advanceRefund(service.deps, voiding.id);
  expect(await rowOf(service, voiding.id)).toMatchObject({
    status: 'completed',
    externalRefundId: transactionId,
  });
  expect(await reviewed(service, cancelled.id)).toMatchObject({ status: 'cancelled', flaggedAt: null });
});

test('does not take a void for that of a cancelled refund while it may be that of one of unknown outcome', async () => {
  const transactionId = await newPayment(service, {
    processor: 'braintree',
    status: 'submitted_for_settlement',
  });
  const whole = { transactionId, amount: 10_000 };
  const cancelled = await createdRefund(service, 'braintree', whole);
  await askToCancel(service, cancelled);
  await service.sandbox.fault({
    processor: 'braintree',
    operation: 'refund.create',
    kind: 'reset-after-apply',
  });
  const voiding = await createdRefund(service, 'braintree', whole);
  await advanceRefund(service.deps, voiding.id);
  expect((await rowOf(service, voiding.id)).unknownSince).not.toBeNull();
  expect(await reviewed(service, cancelled.id)).toMatchObject({ status: 'cancelled', flaggedAt: null });
  expect(await reviewed(service, voiding.id)).toMatchObject({ status: 'completed' });
});
