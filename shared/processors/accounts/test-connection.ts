import { writeAudit } from '../../platform/audit-log.ts';
import type { Processor, ReadResult, RefundPage } from '../contract/processor.ts';
import { type AccountDependencies, type AccountName, isUnusableCredentials } from './connections.ts';

/**
 * What a test of a connection came to; `message` is the processor's, or says what is wrong on this side.
 * - `works`: the processor answered, and takes the credentials.
 * - `refused`: the credentials, or what they may do, are refused, or what is stored cannot be used.
 * - `unavailable`: no answer that says anything of the credentials.
 * - `throttled`: the processor wants to be left alone; it was not asked.
 */
export type ConnectionTest =
  | { kind: 'works' }
  | { kind: 'refused' | 'unavailable'; message: string }
  | { kind: 'throttled'; until: Date };

/** Somebody waits for it in front of a page. */
const longestMs = 10_000;

/** A second in which no refund can have been made, so that the list of its refunds is one short request. */
const emptyWindow = { from: new Date('2001-01-01T00:00:00Z'), to: new Date('2001-01-01T00:00:01Z') };

/**
 * Asks the processor something harmless with the stored credentials; what that says of the account is noted on it, as
 * with any other call.
 * @param request.actor who wanted to know; for the audit log.
 */
export async function testConnection(
  deps: AccountDependencies,
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

async function tryOut(deps: AccountDependencies, account: AccountName): Promise<ConnectionTest> {
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
  const answer = await processor.listRefunds(emptyWindow, { timeoutMs });
  return meaningOf(answer);
}

function meaningOf(answer: ReadResult<RefundPage>): ConnectionTest {
  if (answer.kind === 'found') return { kind: 'works' };
  const { message } = answer.failure;
  return { kind: answer.kind === 'misconfigured' ? 'refused' : 'unavailable', message };
}
