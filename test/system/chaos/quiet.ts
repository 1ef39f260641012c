import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../shared/platform/database.ts';
import { type RefundRecord, recordsOf } from '../../support/refunds/refund-records.ts';

/** How things stood when nothing was disturbed any more. */
export interface Quiet {
  /** From the end of the last fault until nothing was `processing`. */
  ms: number;
  /** Still `processing` at the end of all patience. */
  stuck: RefundRecord[];
}

const pollIntervalMs = 200;

/**
 * Waits until every refund has come to its end and every client to its answer.
 * @param clients resolves when the last client has its answer.
 * @param patienceMs after which whatever is not done is stuck.
 */
export async function untilQuiet(db: Database, clients: Promise<void>, patienceMs: number): Promise<Quiet> {
  const startedAt = performance.now();
  const passedMs = () => performance.now() - startedAt;
  let areAnswered = false;
  void clients.then(() => {
    areAnswered = true;
  });
  let lastBusyMs = 0;
  for (;;) {
    const open = await db.refund.count({ where: { status: 'processing' } });
    if (open > 0) lastBusyMs = passedMs();
    else if (areAnswered) return { ms: lastBusyMs, stuck: [] };
    if (passedMs() > patienceMs) {
      return { ms: lastBusyMs, stuck: await recordsOf(db, { status: 'processing' }) };
    }
    await sleep(pollIntervalMs);
  }
}
