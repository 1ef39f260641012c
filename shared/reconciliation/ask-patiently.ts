import { setTimeout as sleep } from 'node:timers/promises';
import type { ReconciliationRun } from '../platform/database.ts';
import type { AccountDependencies, AccountName } from '../processors/accounts/connections.ts';
import type {
  CallOptions,
  Processor,
  ProcessorFailure,
  ReadResult,
} from '../processors/contract/processor.ts';
import { retryDelayMs } from '../refunds/model/backoff.ts';
import { keepRun, longestPauseMs } from './run-record.ts';

/** What every part of a run works with. */
export interface RunContext {
  deps: AccountDependencies;
  account: AccountName;
  processor: Processor;
  run: ReconciliationRun;
  /** Aborted when the process is asked to end. */
  signal: AbortSignal;
}

/** The run cannot be brought to its end now; the message says why, and the run is repeated later. */
export class RunStoppedError extends Error {
  override readonly name = 'RunStoppedError';
}

/** How often one read is tried. */
const mostAttempts = 5;

/**
 * Makes a read of the processor, again after growing pauses while it cannot be asked. It waits for as long as the account
 * is throttled, so that refunds and reconciliation share what the processor allows.
 * @throws RunStoppedError when the processor cannot be asked, RunLostError when the lease was lost.
 */
export async function askPatiently<T>(
  context: RunContext,
  read: (options: CallOptions) => Promise<ReadResult<T>>,
): Promise<Extract<ReadResult<T>, { kind: 'found' | 'not-found' }>> {
  const { deps, run } = context;
  const options = { timeoutMs: deps.settings.PROCESSOR_TIMEOUT_MS };
  for (let attempt = 1; ; attempt += 1) {
    await waitForThrottle(context);
    await keepRun(deps.db, deps.settings, run);
    const answer = await read(options);
    if (answer.kind === 'found' || answer.kind === 'not-found') return answer;
    if (answer.kind === 'misconfigured') throw stopped(answer.failure, 'refuses the credentials');
    if (attempt === mostAttempts)
      throw stopped(answer.failure, `could not be asked in ${mostAttempts} attempts`);
    await pause(context, pauseMs(deps, attempt, answer.retryAfterMs), answer.failure);
  }
}

function pauseMs(deps: AccountDependencies, attempt: number, retryAfterMs: number | null): number {
  const { RETRY_BASE_MS: baseMs, RETRY_CAP_MS } = deps.settings;
  const capMs = Math.min(RETRY_CAP_MS, longestPauseMs / 2);
  return retryDelayMs(attempt, { baseMs, capMs }, deps.random, retryAfterMs);
}

async function waitForThrottle(context: RunContext): Promise<void> {
  const { deps, account } = context;
  const { throttledUntil } = await deps.db.processorAccount.findUniqueOrThrow({
    where: { id: account.id },
    select: { throttledUntil: true },
  });
  const waitMs = (throttledUntil?.getTime() ?? 0) - deps.clock.now().getTime();
  if (waitMs <= 0) return;
  const message = 'It asks for fewer requests.';
  await pause(context, waitMs, { code: 'throttled', message });
}

/**
 * Rests with a lease that lasts for the whole pause, however long the call before it took.
 * @throws RunStoppedError for a pause that is too long, and when the process is asked to end, RunLostError when the lease
 * was lost.
 */
async function pause(
  { deps, run, signal }: RunContext,
  ms: number,
  failure: ProcessorFailure,
): Promise<void> {
  if (ms > longestPauseMs) throw stopped(failure, `wants ${Math.ceil(ms / 1000)} seconds of rest`);
  await keepRun(deps.db, deps.settings, run);
  await sleep(ms, undefined, { signal }).catch(() => {});
  stopIfAsked(signal);
}

/** @throws RunStoppedError when the process is asked to end. */
export function stopIfAsked(signal: AbortSignal): void {
  if (signal.aborted) throw new RunStoppedError('Its process was asked to end.');
}

function stopped({ message }: ProcessorFailure, what: string): RunStoppedError {
  return new RunStoppedError(`The processor ${what}. It said: ${message}`);
}
