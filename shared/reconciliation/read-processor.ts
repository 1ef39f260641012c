import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceSettings } from '../platform/config.ts';
import type { ReconciliationRun, Stores } from '../platform/database.ts';
import type { Logger } from '../platform/log.ts';
import type { RefundQueues } from '../platform/queues.ts';
import type { AccountName } from '../processors/accounts/account.ts';
import type { ProcessorConnections } from '../processors/accounts/connections.ts';
import type {
  Ambiguous,
  CallOptions,
  Processor,
  ProcessorFailure,
  ReadResult,
} from '../processors/contract/processor.ts';
import { retryDelayMs } from '../refunds/model/backoff.ts';
import { keepRun, longestPauseMs } from './runs.ts';

/** What a run needs of its process. */
export interface ReconciliationDependencies extends Stores {
  settings: ServiceSettings;
  log: Logger;
  /** Uniform in [0, 1), for jitter. */
  random: () => number;
  queues: RefundQueues;
  connections: ProcessorConnections;
}

/** What every part of a run works with. */
export interface RunContext {
  deps: ReconciliationDependencies;
  account: AccountName;
  processor: Processor;
  run: ReconciliationRun;
  /** True in a recovery: refunds of ours that are not on record are put back. */
  putsBack: boolean;
  /** Aborted when the process is shutting down. */
  signal: AbortSignal;
}

/** The run cannot be finished now; the message says why. It is repeated later. */
export class RunStoppedError extends Error {
  override readonly name = 'RunStoppedError';
}

const maxAttempts = 5;

/**
 * Reads from the processor, and retries with growing pauses while it does not answer. A call of a paused operation
 * is answered with the rest of the pause.
 * @throws RunStoppedError when the processor cannot be read, RunLostError when the lease was lost.
 */
export async function readWithRetries<T>(
  context: RunContext,
  read: (options: CallOptions) => Promise<ReadResult<T> | Ambiguous>,
): Promise<Extract<ReadResult<T>, { kind: 'found' | 'not-found' }>> {
  const { deps, run } = context;
  const { PROCESSOR_TIMEOUT_MS: timeoutMs, RETRY_BASE_MS: baseMs, RETRY_CAP_MS } = deps.settings;
  const backoff = { baseMs, capMs: Math.min(RETRY_CAP_MS, longestPauseMs / 2) };
  for (let attempt = 1; ; attempt += 1) {
    await keepRun(deps.db, deps.settings, run);
    const answer = await read({ timeoutMs });
    if (answer.kind === 'found' || answer.kind === 'not-found') return answer;
    if (answer.kind === 'ambiguous') return { kind: 'not-found', failure: answer.failure };
    if (answer.kind === 'misconfigured') throw stopped(answer.failure, 'rejected the credentials');
    if (attempt === maxAttempts) throw stopped(answer.failure, `did not answer ${maxAttempts} attempts`);
    const pauseMs = retryDelayMs(attempt, backoff, deps.random, answer.retryAfterMs);
    await pause(context, pauseMs, answer.failure);
  }
}

/**
 * Pauses under a lease that lasts for the whole pause, however long the call before it took.
 * @throws RunStoppedError for a pause that is too long and when the process is shutting down, RunLostError when the lease
 * was lost.
 */
async function pause(
  { deps, run, signal }: RunContext,
  ms: number,
  failure: ProcessorFailure,
): Promise<void> {
  if (ms > longestPauseMs) throw stopped(failure, `asks for a pause of ${Math.ceil(ms / 1000)} seconds`);
  await keepRun(deps.db, deps.settings, run);
  await sleep(ms, undefined, { signal }).catch(() => {});
  stopIfAborted(signal);
}

/** @throws RunStoppedError when the process is shutting down. */
export function stopIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new RunStoppedError('The process was shut down.');
}

function stopped({ message }: ProcessorFailure, what: string): RunStoppedError {
  return new RunStoppedError(`The processor ${what}. Last answer: ${message}`);
}
