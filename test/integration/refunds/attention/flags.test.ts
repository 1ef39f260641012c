import { afterEach, expect, test } from 'vitest';
import { readAttention } from '#api/cli/reports/refund-attention.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { adminCliOf, onlyLine } from '#test/support/processes/admin-cli.ts';
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
import { type RefundRecord, rowOf, timelineOf } from '#test/support/refunds/refund-records.ts';
import { askToCancel } from '#test/support/refunds/refund-work.ts';

const service = useServiceThatFlags();
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

test.each<[string, { status: string } | null, bigint, object, string[]]>([
  ['is open', null, 2_500n, { status: 'processing', retryingSince: null }, []],
  ['has completed', { status: 'succeeded' }, 2_500n, { status: 'completed' }, ['refund.completed']],
  [
    'has failed',
    { status: 'failed' },
    2_500n,
    { status: 'failed', failureCode: 'unknown' },
    ['refund.failed'],
  ],
  [
    'has completed with another amount',
    { status: 'succeeded' },
    2_499n,
    { status: 'processing', flagReason: 'amount_differs' },
    [],
  ],
])('a refund of unknown outcome that %s when it is found', async (_, there, amount, expected, ends) => {
  const { id, transactionId } = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
  const [found] = await service.sandbox.refunds({ transactionId });
  if (there !== null) await service.sandbox.driveRefund(found?.id ?? '', there);
  const setAmount = (to: bigint) =>
    service.deps.db.$executeRaw`UPDATE refund SET amount = ${to} WHERE id = ${id}`;
  await setAmount(amount);
  expect(await reviewed(service, id)).toMatchObject({ externalRefundId: found?.id, ...expected });
  const begun = ['refund.created', 'attempt.unknown', 'lookup.found'];
  expect(await timelineOf(service, id)).toEqual([...begun, ...ends]);
  await setAmount(2_500n);
});

test('lists a discrepancy of an ended refund until the processor agrees again, or a person dismisses it', async () => {
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

  await service.deps.db.$executeRaw`UPDATE refund SET external_refund_id = 're_gone' WHERE id = ${refund.id}`;
  await reviewed(service, refund.id);
  const kept = await admin(['refund', 'resolve', refund.id, '--dismiss', '--reason', 'They archived it']);
  const stderr = `Dismissed the flag of ${refund.id}, which stays completed.\n`;
  expect(kept).toMatchObject({ code: 0, stderr });
  expect((await reviewed(service, refund.id)).flaggedAt).toBeNull();
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

test('does not take a void for that of a cancelled refund while it is, or may be, that of another one', async () => {
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
  expect(await reviewed(service, cancelled.id)).toMatchObject({ status: 'cancelled', flaggedAt: null });
});
