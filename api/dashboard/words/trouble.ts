import type { Workers } from '#shared/health/heartbeat.ts';
import { type AccountInTrouble, mostCounted } from '#shared/health/trouble.ts';
import { accountLabel } from '#shared/processors/registry.ts';
import { inLargestUnit, inTime, inWhole } from './numbers.ts';

/** "No worker for 2 minutes"; null while one is alive and may send. */
export function workersTrouble({ alive, seenAt, heldSince }: Workers, now: Date): string | null {
  if (heldSince !== null) return 'The database was restored. Nothing is sent until the recovery has run';
  if (alive > 0) return null;
  if (seenAt === null) return 'No worker has run in the last day';
  return `No worker for ${inLargestUnit(now.getTime() - seenAt.getTime())}`;
}

/** "Stripe test has not answered for 4 minutes, 30 refunds wait, next attempt in 12 s". */
export function accountTrouble(account: AccountInTrouble, now: Date): string {
  const { environment, since } = account;
  const forLong = inLargestUnit(now.getTime() - since.getTime());
  return `${accountLabel(account)} ${environment} has not answered for ${forLong}, ${waitingOf(account, now)}`;
}

/** "30 refunds wait, next attempt in 12 s". */
function waitingOf({ refunds, nextAttemptAt }: AccountInTrouble, now: Date): string {
  const many = refunds >= mostCounted ? '+' : '';
  const waiting = refunds === 1 ? '1 refund waits' : `${inWhole(refunds)}${many} refunds wait`;
  const isAhead = nextAttemptAt !== null && nextAttemptAt > now;
  const next = isAhead ? `in ${inTime(nextAttemptAt.getTime() - now.getTime())}` : 'is due';
  return `${waiting}, next attempt ${next}`;
}
