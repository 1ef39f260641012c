import { afterEach, describe, expect, test } from 'vitest';
import { readAttention } from '#api/cli/reports/refund-attention.ts';
import { markPaymentStale } from '#shared/payments/payment.ts';
import { abilitiesOf, noteAbility, refusedAbilities } from '#shared/processors/accounts/abilities.ts';
import { findAccount } from '#shared/processors/accounts/account.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '#test/sandbox/processors.ts';
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
import { newPayment, readPayment } from '#test/support/refunds/payments.ts';
import { type RefundRecord, rowOf, timelineOf } from '#test/support/refunds/refund-records.ts';
import { askToCancel, flagByHand } from '#test/support/refunds/refund-work.ts';

const expired = { code: 'expired', message: 'expired' };

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

describe('credentials', () => {
  const account = () =>
    ({ organizationId: service.organization.id, environment: 'test', processor: 'stripe' }) as const;
  const stripe = {
    read: () => findAccount(service.deps.db, account()),
    async setKey(secretKey: string) {
      const { apiBase } = sandboxCredentials('test', service.sandboxUrl).stripe;
      const credentials = { secretKey, apiBase };
      await setProcessorAccount(service.deps, { ...account(), credentials, actor: 'test' });
    },
    /** As for a key of the encryption that is gone. */
    async spoilStored() {
      await service.deps.db.$executeRaw`
        UPDATE processor_account SET encrypted_credentials = '\\x00', updated_at = service_time()
        WHERE id = ${(await stripe.read()).id}`;
    },
    /** Whether its credentials were refused. */
    isMarked: async () => (await stripe.read()).misconfiguredAt !== null,
  };

  afterEach(() => stripe.setKey('sk_test_sandbox'));

  test.each([
    ['refused', () => stripe.setKey('sk_test_invalid')],
    ['unreadable', stripe.spoilStored],
  ])(
    'flags what needs %s credentials at once, with the account, until new ones are set',
    async (_, spoil) => {
      const ended = await completedRefund(service, 'stripe');
      const unknown = await flaggedUnknown(service, 'stripe', 'reset');
      const accepted = await createdRefund(service, 'stripe');
      await advanceRefund(service.deps, accepted.id);
      const fresh = await createdRefund(service, 'stripe');
      await spoil();
      for (const { id } of [unknown, accepted, fresh]) {
        await service.deps.db.processorAccount.updateMany({ data: { abilities: {}, misconfiguredAt: null } });
        if (id === fresh.id) await advanceRefund(service.deps, id);
        else await reviewed(service, id);
        expect((await rowOf(service, id)).flagReason).toBe('account_unusable');
        expect(await stripe.isMarked()).toBe(true);
      }
      // Nothing was sent, so a lookup is not needed.
      const unsent = { unknownSince: null, attempts: [{ number: 1, outcome: 'misconfigured' }] };
      expect(await rowOf(service, fresh.id)).toMatchObject(unsent);
      expect(await timelineOf(service, fresh.id)).toEqual(['refund.created', 'attempt.misconfigured']);
      // What may have been sent still needs one.
      expect((await rowOf(service, unknown.id)).unknownSince).not.toBeNull();
      expect(await reviewed(service, ended.id)).toMatchObject({ status: 'completed', flaggedAt: null });
      const { accounts, refunds } = await readAttention(service.deps.db, undefined);
      const next = `account set --organization ${service.organization.id} --environment test --processor stripe`;
      expect(accounts).toMatchObject([{ next }]);
      expect(Object.keys(accounts[0]?.account ?? {})).not.toContain('encryptedCredentials');
      const ours = [unknown.id, accepted.id, fresh.id];
      const listedNext = refunds.filter(({ refund }) => ours.includes(refund.id)).map((item) => item.next);
      expect(listedNext).toEqual([next, next, next]);
      await stripe.setKey('sk_test_sandbox');
      for (const { id } of [unknown, accepted, fresh]) await advanceRefund(service.deps, id);
      for (const { id } of [unknown, accepted, fresh])
        expect((await rowOf(service, id)).flaggedAt).toBeNull();
    },
  );

  test('that were refused for longer than a refund is retried fail none, also if the processor is busy then', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const retryingSince = new Date(Date.now() - service.settings.RETRY_DEADLINE_MS - 1_000);
    await service.deps.db.refundWork.update({ where: { refundId: id }, data: { retryingSince } });
    await stripe.setKey('sk_test_invalid');
    await advanceRefund(service.deps, id);
    await stripe.setKey('sk_test_sandbox');
    await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'rate-limit' });
    await advanceRefund(service.deps, id);
    expect(await timelineOf(service, id)).toEqual([
      ...['refund.created', 'attempt.misconfigured', 'attempt.unavailable'],
    ]);
  });

  test('end no cancellation when they are refused or those of another account', async () => {
    const transactionId = await newPayment(service, { paymentMethod: 'customer_balance' });
    const { id } = await createdRefund(service, 'stripe', { transactionId });
    await advanceRefund(service.deps, id);
    const { externalRefundId } = await rowOf(service, id);
    await stripe.setKey('sk_test_invalid');
    await askToCancel(service, await rowOf(service, id));
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', flagReason: 'account_unusable' });
    await stripe.setKey('sk_test_sandbox');
    // As another account answers.
    await service.deps.db.refund.update({ where: { id }, data: { externalRefundId: 're_missing' } });
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', flagReason: 'missing_there' });
    await service.deps.db.refund.update({ where: { id }, data: { externalRefundId } });
    await stripe.setKey('sk_test_sandbox');
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'cancelled', work: null });
  });

  test('ends the flags of refunds that another account did not have', async () => {
    const { id } = await completedRefund(service, 'stripe');
    await flagByHand(service, id, { reason: 'missing_there', facts: {} });
    await stripe.setKey('sk_test_sandbox');
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'completed', work: null });
  });

  test('counts an attempt that could not read the payment with refused credentials', async () => {
    await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
    const { id } = await createdRefund(service, 'stripe');
    await service.sandbox.clearFaults();
    await stripe.setKey('sk_test_invalid');
    const count = async () =>
      (await service.deps.metrics.attempts.get()).values.find(
        ({ labels }) => labels.outcome === 'misconfigured',
      )?.value ?? 0;
    const before = await count();
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ flagReason: 'account_unusable', attempts: [] });
    expect((await count()) - before).toBe(1);
  });

  test('does not mark new credentials for a refusal of the old ones', async () => {
    const old = await stripe.read();
    await stripe.setKey('sk_test_sandbox');
    await noteAbility(service.deps, old, { ability: 'credentials', failure: expired });
    expect(await stripe.isMarked()).toBe(false);
  });

  test('are not refused any more after any call that succeeds, unlike an ability, which only itself clears', async () => {
    const refund = await createdRefund(service, 'stripe');
    const calls = {
      read: async () => {
        await markPaymentStale(service.deps.db, refund.paymentId);
        await readPayment(service.deps, refund);
      },
      send: () => advanceRefund(service.deps, refund.id),
      check: () => reviewed(service, refund.id),
    };
    for (const [name, call] of Object.entries(calls)) {
      for (const ability of ['credentials', 'cancel'] as const)
        await noteAbility(service.deps, await stripe.read(), { ability, failure: expired });
      await call();
      const known = abilitiesOf(await stripe.read());
      expect(refusedAbilities(known), name).toEqual(['cancel']);
      expect(await stripe.isMarked()).toBe(true);
    }
  });
});
