import { setTimeout as sleep } from 'node:timers/promises';
import { readWorkers } from '#shared/health/heartbeat.ts';
import { formatAmount } from '#shared/money/money.ts';
import type { Refund } from '#shared/platform/database.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import type { AbilityTest, ConnectionTest } from '#shared/processors/accounts/test-connection.ts';
import { isLive, type ProcessorPayment } from '#shared/processors/contract/processor.ts';
import { displayNameOf, processorKind } from '#shared/processors/registry.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { type Columns, explain, printFields, printTable } from '../console/output.ts';
import { CommandError, type Session } from '../console/session.ts';
import { loadRefund } from './refund-report.ts';

const columns: Columns<AbilityTest> = {
  ABILITY: ({ ability }) => ability,
  STATE: ({ state }) => state,
  'MISSING PERMISSION': ({ permission }) => permission,
  DETAILS: ({ failure }) => failure?.message ?? null,
};

/** Shows what a connection test found. */
export function printAbilities(tests: readonly AbilityTest[]): void {
  printTable(tests, columns);
}

/** What to know about credentials that do not simply work. */
export function warningsOf({ verdict, abilities: tests }: ConnectionTest, name: string): string[] {
  const refused = tests.filter(({ state }) => state === 'refused');
  if (verdict === 'unusable')
    return [`${name} refuses the credentials: ${refused[0]?.failure?.message ?? ''}`];
  const unknown = verdict === 'unavailable' ? tests.find(({ ability }) => ability === 'refund') : undefined;
  return [
    ...(unknown?.failure
      ? [`${name} did not say whether it permits refunds: ${unknown.failure.message}`]
      : []),
    ...refused.map(
      ({ ability, permission, failure }) => `${ability} is refused: ${permission ?? failure?.message ?? ''}`,
    ),
  ];
}

/**
 * Reads a payment at the processor.
 * @throws CommandError when it cannot be read.
 */
export async function readPaymentAt(
  { connections, settings }: Session,
  account: AccountName,
  transactionId: string,
): Promise<ProcessorPayment> {
  const processor = await connections.connect(account);
  const timeoutMs = settings.TRANSACTION_READ_TIMEOUT_MS;
  const answer = await processor.getPayment(transactionId, { timeoutMs });
  if (answer.kind === 'found') return answer.value;
  throw new CommandError(`The payment ${transactionId} cannot be read: ${answer.failure.message}`);
}

/** Shows a payment as its processor has it, and what of it could be refunded. */
export function printPayment(payment: ProcessorPayment): void {
  const { transactionIds, amount, currency, chargedAt, refunds, unrefundable } = payment;
  const inMoney = (minor: bigint) => formatAmount(minor, currency);
  printFields([
    ['payment', transactionIds.join(', ')],
    ['amount', inMoney(amount)],
    ['charged at', chargedAt],
    ['refunds', refunds.length],
    ['refunded', inMoney(refundedOf(payment))],
    ['refundable', inMoney(refundableOf(payment))],
    ['cannot be refunded', unrefundable === null ? null : `${unrefundable.code}: ${unrefundable.message}`],
  ]);
}

function refundedOf({ refunds }: ProcessorPayment): bigint {
  return refunds.filter(isLive).reduce((sum, { amount }) => sum + amount, 0n);
}

function refundableOf(payment: ProcessorPayment): bigint {
  return payment.unrefundable === null ? payment.amount - refundedOf(payment) : 0n;
}

const followMs = 60_000;
const everyMs = 500;

/**
 * Refunds the smallest amount of a payment in the test environment, as the service refunds any, and follows it until it has ended.
 * @throws CommandError when nothing of it can be refunded, or it has not ended in a minute.
 */
export async function refundSmallest(
  session: Session,
  { id: account, organizationId, environment, processor }: AccountName,
  payment: ProcessorPayment,
): Promise<void> {
  const { currency, transactionIds } = payment;
  const kind = processorKind(processor);
  const amount = [1n, 10n, 100n, 1000n].find((each) => kind.amountProblem(each, currency) === null) ?? 1n;
  const [transactionId] = transactionIds;
  if (transactionId === undefined || amount > refundableOf(payment)) {
    throw new CommandError('Nothing of this payment can be refunded. Give another one.');
  }
  if ((await readWorkers(session.db)).alive === 0)
    throw new CommandError('No worker runs, so the refund would not be sent. Start one.');
  const { refund } = await createRefund(session, {
    ...{ organizationId, environment, processor, account, transactionId, amount, currency },
    ...{ actor: session.actor, apiKey: null, initiatedBy: 'dashboard', reason: 'other' },
    metadata: { account_check: true },
    idempotency: null,
  });
  explain(`Created refund ${refund.id} of ${formatAmount(amount, currency)}.`);
  await follow(session, refund.id);
}

async function follow({ db }: Session, id: string): Promise<void> {
  const end = performance.now() + followMs;
  let refund = await loadRefund(db, id);
  for (
    let seen = '';
    refund.status === 'processing' && performance.now() < end;
    refund = await loadRefund(db, id)
  ) {
    const now = refund.processorStatus ?? 'not sent yet';
    if (now !== seen) explain(`${displayNameOf(refund.processor)}: ${now}`);
    seen = now;
    await sleep(everyMs);
  }
  printFields([
    ['refund', id],
    ['status', refund.status],
    ['at the processor', refund.externalRefundId],
    ['its status there', refund.processorStatus],
    ['moved', movedOf(refund)],
    ['failure', refund.failureMessage],
  ]);
  if (refund.status === 'processing' && refund.externalRefundId === null)
    throw new CommandError(`The refund was not accepted in a minute. Follow it with: refund show ${id}`);
}

function movedOf({ status, externalRefundId, amount, currency }: Refund): string {
  const money = formatAmount(amount, currency);
  if (status === 'completed') return money;
  if (status === 'pending') return 'nothing yet: a policy requires approval';
  if (status !== 'processing') return 'nothing';
  return externalRefundId === null ? 'nothing yet' : `${money}, on its way`;
}
