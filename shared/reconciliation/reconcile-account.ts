import { remainingOf } from '../payments/payment.ts';
import { type ProcessorAccount, type ReconciliationRun, serviceTime } from '../platform/database.ts';
import { type AccountName, withoutCredentials } from '../processors/accounts/account.ts';
import { isUnusableCredentials } from '../processors/accounts/connections.ts';
import {
  isLive,
  type ListedRefund,
  type ListingWindow,
  type Processor,
} from '../processors/contract/processor.ts';
import { recordPayment } from '../refunds/changes/record-payment.ts';
import { processorFacts } from '../refunds/model/flags.ts';
import { referenceTo } from '../refunds/model/refund.ts';
import { compare, type Discrepancy, matchOf, type OurRefund } from './compare.ts';
import { recordDiscrepancy, recordFinding } from './findings.ts';
import { findCandidates, findPaymentIds, findRecordedIds, sentWithin } from './our-refunds.ts';
import { isOfAnother, isOffRecord, putBackApproved, putBackRefunds } from './put-back.ts';
import {
  type ReconciliationDependencies,
  type RunContext,
  RunStoppedError,
  readWithRetries,
  stopIfAborted,
} from './read-processor.ts';
import { beginRun, finishRun, RunLostError } from './runs.ts';

interface ReconciliationRequest {
  account: Pick<ProcessorAccount, 'id'>;
  window: ListingWindow;
  /** `worker` for the schedule, `cli:<user>` for administration. */
  actor: string;
  /** True to put back refunds of ours that are not on record: a recovery after a restore. */
  putsBack?: boolean;
  /** Aborted when the process is shutting down. */
  signal: AbortSignal;
}

/**
 * Compares a processor account's refunds with ours over a window of time: requests resyncs where reading a refund again
 * settles it, and reports the rest. It never cancels or sends anything, and may be repeated at any time.
 * @returns the finished run, whose `failure` says why it did not finish; null while another run of the account is under
 * way, and for the schedule when the account is no longer due.
 * @throws RunLostError when it was too slow and another process closed it, and what the database throws.
 */
export async function reconcileAccount(
  deps: ReconciliationDependencies,
  { account, window, actor, ...how }: ReconciliationRequest,
): Promise<ReconciliationRun | null> {
  const run = await beginRun(deps, account, { window, actor, putsBack: how.putsBack ?? false });
  return run === null ? null : await carryOutRun(deps, run, how);
}

/**
 * Carries out a run that has begun.
 * @returns the finished run, whose `failure` says why it did not finish.
 * @throws RunLostError and what the database throws, as above.
 */
export async function carryOutRun(
  deps: ReconciliationDependencies,
  run: ReconciliationRun,
  { signal, putsBack = false }: Pick<ReconciliationRequest, 'signal' | 'putsBack'>,
): Promise<ReconciliationRun> {
  const { accountId: id, windowStart: from, windowEnd: to } = run;
  const progress: Progress = {
    comparedCount: 0,
    foreignCount: 0,
    matchedIds: new Set(),
    remaining: new Map(),
  };
  try {
    // The caller may have loaded the account long ago; its credentials may have changed.
    const account = await deps.db.processorAccount.findUniqueOrThrow({
      where: { id },
      omit: withoutCredentials,
    });
    const processor = await connect(deps, account);
    await compareAll({ deps, account, processor, run, signal, putsBack, progress }, { from, to });
  } catch (error) {
    if (error instanceof RunLostError) throw error;
    return await giveUp(deps, run, progress, error);
  }
  warnOfForeign(deps, run, progress);
  return await finishRun(deps, run, progress.comparedCount, null);
}

/** What a run has seen so far. */
interface Progress {
  comparedCount: number;
  /** Refunds that another organization made through the same account, and that are not on record here. */
  foreignCount: number;
  /** Our refunds that the processor has. */
  matchedIds: Set<string>;
  /** What is left of each payment that was read again, in minor units; null for one that the processor does not have. */
  remaining: Map<string, bigint | null>;
}

type Comparison = RunContext & { progress: Progress };

async function connect(deps: ReconciliationDependencies, account: AccountName): Promise<Processor> {
  try {
    return await deps.connections.connect(account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    throw new RunStoppedError(`The account cannot be used: ${error.message}`);
  }
}

async function giveUp(
  deps: ReconciliationDependencies,
  run: ReconciliationRun,
  { comparedCount }: Progress,
  error: unknown,
): Promise<ReconciliationRun> {
  const failure = error instanceof RunStoppedError ? error.message : 'Internal error; see the log.';
  const fields = { runId: run.id, accountId: run.accountId, failure };
  if (error instanceof RunStoppedError) deps.log.warn(fields, 'reconciliation stopped');
  else deps.log.error({ ...fields, err: error }, 'reconciliation failed');
  return await finishRun(deps, run, comparedCount, failure);
}

function warnOfForeign(
  { log }: ReconciliationDependencies,
  { id: runId, accountId }: ReconciliationRun,
  { foreignCount }: Progress,
): void {
  if (foreignCount === 0) return;
  log.warn(
    { runId, accountId, foreignCount },
    'another installation or organization makes refunds through the same account at the processor; they are left alone',
  );
}

/** Listed refunds are compared page by page. That one of ours is missing is concluded from a complete list only. */
async function compareAll(context: Comparison, window: ListingWindow): Promise<void> {
  const { deps, account, signal, progress } = context;
  for await (const page of listPages(context, window)) await comparePage(context, page);
  if (context.putsBack) await putBackApproved(context);
  for await (const batch of sentWithin(deps.db, account, window)) {
    for (const ours of batch) {
      if (progress.matchedIds.has(ours.id)) continue;
      stopIfAborted(signal);
      progress.comparedCount += 1;
      const discrepancy = await confirm(context, ours.id, ours.externalRefundId ?? '');
      if (discrepancy !== null) await recordDiscrepancy(context, ours, discrepancy);
    }
  }
}

async function* listPages(
  context: RunContext,
  window: ListingWindow,
): AsyncGenerator<readonly ListedRefund[]> {
  let answer = await readWithRetries(context, (options) => context.processor.listRefunds(window, options));
  for (;;) {
    if (answer.kind === 'not-found') throw new RunStoppedError(answer.failure.message);
    const { refunds, next } = answer.value;
    yield refunds;
    if (next === null) return;
    stopIfAborted(context.signal);
    answer = await readWithRetries(context, next);
  }
}

async function comparePage(context: Comparison, page: readonly ListedRefund[]): Promise<void> {
  const { deps, account, progress } = context;
  const candidates = await findCandidates(deps.db, account, page);
  const unmatched: ListedRefund[] = [];
  const lost: ListedRefund[] = [];
  const recordedIds = await findRecordedIds(deps.db, page);
  for (const theirs of page) {
    progress.comparedCount += 1;
    if (isOfAnother(theirs, account) && !recordedIds.has(theirs.refundId ?? '')) progress.foreignCount += 1;
    const ours = matchOf(theirs, candidates);
    const isLost = ours === null ? isOffRecord(theirs, account, recordedIds) : ours.status === 'pending';
    if (context.putsBack && isLost) lost.push(theirs);
    else if (ours === null) unmatched.push(theirs);
    else await comparePair(context, theirs, ours);
  }
  if (lost.length > 0) await putBackLost(context, lost);
  await recordUnmatched(context, unmatched.filter(isLive), recordedIds);
}

/** Puts refunds of a page back. Where the processor has more than one under a name of ours, the others are compared with that one. */
async function putBackLost(context: Comparison, lost: readonly ListedRefund[]): Promise<void> {
  const paymentOf = ({ transactionIds: [id = ''] }: ListedRefund) => id;
  for (const transactionId of new Set(lost.map(paymentOf))) {
    const listed = lost.filter((theirs) => paymentOf(theirs) === transactionId);
    await putBackRefunds(context, transactionId, listed);
  }
  const putBack = await findCandidates(context.deps.db, context.account, lost);
  for (const theirs of lost) {
    const ours = matchOf(theirs, putBack);
    if (ours !== null && ours.externalRefundId !== theirs.id) await comparePair(context, theirs, ours);
  }
}

async function comparePair(context: Comparison, theirs: ListedRefund, ours: OurRefund): Promise<void> {
  const { matchedIds } = context.progress;
  if (ours.externalRefundId === null || ours.externalRefundId === theirs.id) matchedIds.add(ours.id);
  if (compare(theirs, ours, await serviceTime(context.deps.db)) === null) return;
  const discrepancy = await confirm(context, ours.id, theirs.id);
  if (discrepancy === null) return;
  // Nothing is reserved for an extra refund, so it has to count as refunded outside.
  if (discrepancy.kind === 'extra_refund') await readPaymentOnce(context, ours.transactionId);
  await recordDiscrepancy(context, ours, discrepancy);
}

/**
 * Compares again before a discrepancy is reported, because a list is older than both records: ours is read first, since it
 * is written after the processor's.
 */
async function confirm(
  context: RunContext,
  refundId: string,
  externalRefundId: string,
): Promise<Discrepancy | null> {
  const { deps, processor } = context;
  const ours = await deps.db.refund.findUniqueOrThrow({
    where: { id: refundId },
    include: { work: true, payment: { select: { externalId: true } } },
  });
  const answer = await readWithRetries(context, (options) =>
    processor.getRefund(externalRefundId, referenceTo(ours, ours.payment.externalId), options),
  );
  const theirs = answer.kind === 'found' ? answer.value : null;
  // A missing extra refund says nothing about ours.
  if (theirs === null && ours.externalRefundId !== externalRefundId) return null;
  return compare(theirs, ours, await serviceTime(deps.db));
}

/**
 * Reads the payments of refunds again that are not on record, so that what can still be refunded is up to date. A payment that is
 * not on record either is read when a refund of it is first requested. A refund under a name of ours is reported in any case, and
 * in a recovery, so is a void, which has no name.
 */
async function recordUnmatched(
  context: Comparison,
  refunds: readonly ListedRefund[],
  recordedIds: ReadonlySet<string>,
): Promise<void> {
  if (refunds.length === 0) return;
  const { deps, account } = context;
  const ids = refunds.flatMap(({ transactionIds }) => transactionIds);
  const recorded = await findPaymentIds(deps.db, account, ids);
  for (const refund of refunds) {
    const isLostVoid = context.putsBack && refund.transactionIds.includes(refund.id);
    const kind = isOffRecord(refund, account, recordedIds) || isLostVoid ? 'not_on_record' : 'made_elsewhere';
    const transactionId = refund.transactionIds.find((id) => recorded.has(id));
    if (transactionId === undefined && kind === 'made_elsewhere') continue;
    const left = transactionId === undefined ? null : await readPaymentOnce(context, transactionId);
    const facts = { ...processorFacts(refund), ...(left === null ? {} : { remaining: Number(left) }) };
    const about = { refundId: null, transactionId: transactionId ?? refund.transactionIds[0] ?? null, facts };
    await recordFinding(context, { kind, ...about }, left === null ? 'nothing' : 'payment_read');
  }
}

/** Reads a payment again, once per run. @returns the remaining amount; null when the processor does not have it. */
async function readPaymentOnce(context: Comparison, transactionId: string): Promise<bigint | null> {
  const { deps, account, processor } = context;
  const { remaining } = context.progress;
  const known = remaining.get(transactionId);
  if (known !== undefined) return known;
  const readAt = await serviceTime(deps.db);
  const answer = await readWithRetries(context, (options) => processor.getPayment(transactionId, options));
  let left: bigint | null = null;
  if (answer.kind === 'found') {
    const payment = await recordPayment(
      deps.db,
      { accountId: account.id, transactionId },
      answer.value,
      readAt,
    );
    left = remainingOf(payment) ?? 0n;
  }
  remaining.set(transactionId, left);
  return left;
}
