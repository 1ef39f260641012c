import type { Dependencies } from '../../dependencies.ts';
import { writeAudit } from '../../platform/audit-log.ts';
import type { CallOptions, Processor, ReadResult } from '../contract/processor.ts';
import { processorKind } from '../registry.ts';
import { type AccountName, isUnusableCredentials } from './connections.ts';

/**
 * The result of a connection test; `message` is the processor's, or names the problem with the stored credentials.
 * - `works`: the processor accepts the credentials.
 * - `refused`: the processor refuses the credentials or lacks a permission, or they cannot be used.
 * - `unavailable`: the processor did not answer, or not about the credentials.
 * - `throttled`: the account is throttled, so no call was made.
 */
export type ConnectionTest =
  | { kind: 'works' }
  | { kind: 'refused' | 'unavailable'; message: string }
  | { kind: 'throttled'; until: Date };

/** A person is waiting for the page. */
const longestMs = 10_000;

/** A second without refunds, so that listing them is one short request. */
const emptyWindow = { from: new Date('2001-01-01T00:00:00Z'), to: new Date('2001-01-01T00:00:01Z') };

/**
 * Tests an account's credentials with a read that changes nothing. As with every call, trouble is noted on the account.
 * @param request.actor for the audit log.
 */
export async function testConnection(
  deps: Dependencies,
  request: { account: AccountName; actor: string },
): Promise<ConnectionTest> {
  const { account, actor } = request;
  const result = await tryOut(deps, account);
  const { id: target, organizationId, environment, processor } = account;
  await deps.db.$transaction(async (tx) => {
    const detail = { environment, processor, result: result.kind };
    const entry = { organizationId, actor, action: 'account.tested', target, detail } as const;
    await writeAudit(tx, entry, deps.clock.now());
  });
  return result;
}

async function tryOut(deps: Dependencies, account: AccountName): Promise<ConnectionTest> {
  const { throttledUntil } = account;
  if (throttledUntil !== null && throttledUntil > deps.clock.now()) {
    return { kind: 'throttled', until: throttledUntil };
  }
  let processor: Processor;
  try {
    processor = await deps.connections.connect(account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    return { kind: 'refused', message: error.message };
  }
  const timeoutMs = Math.min(deps.settings.PROCESSOR_TIMEOUT_MS, longestMs);
  return meaningOf(await readNothing(processor, account, { timeoutMs }));
}

/** A processor that lists no refunds is asked for a payment that does not exist, and denies it only with good credentials. */
async function readNothing(
  processor: Processor,
  account: AccountName,
  options: CallOptions,
): Promise<ReadResult<unknown>> {
  if (processorKind(account.processor).capabilities.listsRefunds) {
    return await processor.listRefunds(emptyWindow, options);
  }
  const answer = await processor.getPayment('connection-test', options);
  return answer.kind === 'not-found' ? { kind: 'found', value: null } : answer;
}

function meaningOf(answer: ReadResult<unknown>): ConnectionTest {
  if (answer.kind === 'found') return { kind: 'works' };
  const { message } = answer.failure;
  return { kind: answer.kind === 'misconfigured' ? 'refused' : 'unavailable', message };
}
