import { type ProcessorAccount, type ReconciliationRun, serviceTime } from '../platform/database.ts';
import {
  type AccountDependencies,
  type AccountName,
  isUnusableCredentials,
  withoutCredentials,
} from '../processors/accounts/connections.ts';
import type {
  ListedRefund,
  Processor,
  ProcessorRefund,
  RefundWindow,
} from '../processors/contract/processor.ts';
import { referenceTo } from '../refunds/model/refund.ts';
import { recordDifference } from './act.ts';
import { askPatiently, type RunContext, RunStoppedError, stopIfAsked } from './ask-patiently.ts';
import { compare, type Difference, matchOf, type OurRefund } from './compare.ts';
import { acceptedWithin, findCandidates } from './find-ours.ts';
import { MadeElsewhere } from './made-elsewhere.ts';
import { beginRun, finishRun, RunLostError } from './run-record.ts';

/** What is to be reconciled, and for whom. */
export interface ReconciliationRequest {
  account: Pick<ProcessorAccount, 'id'>;
  window: RefundWindow;
  /** `worker` for the schedule, `cli:<user>` for administration. */
  actor: string;
  /** Aborted when the process is asked to end. */
  signal: AbortSignal;
}

/**
 * Compares a processor account's refunds with ours over a window of time, acts where the evidence leaves one answer only,
 * and reports the rest. It never creates, cancels or sends anything; doing it twice is doing it once.
 * @returns the finished run, whose `failure` says why if it could not be brought to its end; null while another run of the
 * account is under way, and for the schedule when the account is no longer due.
 * @throws RunLostError when it was too slow and somebody else has closed it, and what the database throws.
 */
export async function reconcileAccount(
  deps: AccountDependencies,
  { account: { id }, window, actor, signal }: ReconciliationRequest,
): Promise<ReconciliationRun | null> {
  const run = await beginRun(deps, { id }, window, actor);
  if (run === null) return null;
  const tally: Tally = { comparedCount: 0, sameIds: new Set() };
  try {
    // The caller may have learnt of the account long ago: its credentials may be others by now.
    const account = await deps.db.processorAccount.findUniqueOrThrow({
      where: { id },
      omit: withoutCredentials,
    });
    const processor = await connect(deps, account);
    await compareAll({ deps, account, processor, run, signal }, window, tally);
  } catch (error) {
    if (error instanceof RunLostError) throw error;
    return await giveUp(deps, run, tally, error);
  }
  return await finishRun(deps, run, tally.comparedCount, null);
}

/** What a run has seen so far. */
interface Tally {
  comparedCount: number;
  /** Our refunds that the processor has. */
  sameIds: Set<string>;
}

async function connect(deps: AccountDependencies, account: AccountName): Promise<Processor> {
  try {
    return await deps.connections.connect(account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    throw new RunStoppedError(`The account cannot be used: ${error.message}`);
  }
}

async function giveUp(
  deps: AccountDependencies,
  run: ReconciliationRun,
  { comparedCount }: Tally,
  error: unknown,
): Promise<ReconciliationRun> {
  const failure =
    error instanceof RunStoppedError ? error.message : 'A fault of the service; its log says more.';
  const fields = { runId: run.id, accountId: run.accountId, failure };
  if (error instanceof RunStoppedError) deps.log.warn(fields, 'reconciliation could not be finished');
  else deps.log.error({ ...fields, err: error }, 'reconciliation failed');
  return await finishRun(deps, run, comparedCount, failure);
}

/** What is there is judged page by page; that something is not there only when the list is complete. */
async function compareAll(context: RunContext, window: RefundWindow, tally: Tally): Promise<void> {
  const elsewhere = new MadeElsewhere(context);
  for await (const page of listPages(context, window)) await comparePage(context, page, elsewhere, tally);
  for await (const batch of acceptedWithin(context.deps, context.account, window)) {
    for (const ours of batch) {
      if (tally.sameIds.has(ours.id)) continue;
      stopIfAsked(context.signal);
      tally.comparedCount += 1;
      const difference = await confirm(context, ours.id, ours.externalRefundId ?? '');
      if (difference !== null) await recordDifference(context, difference);
    }
  }
  await elsewhere.finish();
}

async function* listPages(
  context: RunContext,
  window: RefundWindow,
): AsyncGenerator<readonly ListedRefund[]> {
  let answer = await askPatiently(context, (options) => context.processor.listRefunds(window, options));
  for (;;) {
    if (answer.kind === 'not-found') throw new RunStoppedError(answer.failure.message);
    const { refunds, next } = answer.value;
    yield refunds;
    if (next === null) return;
    stopIfAsked(context.signal);
    answer = await askPatiently(context, next);
  }
}

async function comparePage(
  context: RunContext,
  page: readonly ListedRefund[],
  elsewhere: MadeElsewhere,
  tally: Tally,
): Promise<void> {
  const { deps, account } = context;
  const candidates = await findCandidates(deps, account, page);
  const unmatched: ListedRefund[] = [];
  for (const theirs of page) {
    tally.comparedCount += 1;
    const ours = matchOf(theirs, candidates);
    if (ours === null) unmatched.push(theirs);
    else await comparePair(context, theirs, ours, elsewhere, tally);
  }
  await elsewhere.add(unmatched);
}

async function comparePair(
  context: RunContext,
  theirs: ListedRefund,
  ours: OurRefund,
  elsewhere: MadeElsewhere,
  tally: Tally,
): Promise<void> {
  if (ours.externalRefundId === null || ours.externalRefundId === theirs.id) tally.sameIds.add(ours.id);
  if (compare(theirs, ours, await serviceTime(context.deps.db)) === null) return;
  const difference = await confirm(context, ours.id, theirs.id);
  if (difference === null) return;
  // No reservation stands for the other one, so it has to count as refunded elsewhere.
  if (difference.kind === 'extra_refund') await elsewhere.readAgain(ours.transactionId);
  await recordDifference(context, difference);
}

/**
 * Looks again before a difference is told: at our record first and then at the processor's, because ours is written after
 * theirs, and a list is older than both.
 */
async function confirm(
  context: RunContext,
  refundId: string,
  externalRefundId: string,
): Promise<Difference | null> {
  const { deps, processor } = context;
  const ours = await deps.db.refund.findUniqueOrThrow({
    where: { id: refundId },
    include: { work: true },
  });
  const answer = await askPatiently(context, (options) =>
    processor.getRefund(externalRefundId, referenceTo(ours), options),
  );
  const theirs: ProcessorRefund | null = answer.kind === 'found' ? answer.value : null;
  // That one of two is gone says nothing about the other.
  if (theirs === null && ours.externalRefundId !== externalRefundId) return null;
  return compare(theirs, ours, await serviceTime(deps.db));
}
