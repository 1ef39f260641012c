import type { Database } from '../../../shared/platform/database.ts';
import { readLedger } from '../../support/refunds/ledger.ts';
import { ledgerViolations, orphanViolations, type Violation } from '../../support/refunds/ledger-rules.ts';
import { clientViolations } from './client-rules.ts';
import type { Deployment } from './deployment.ts';
import type { Diary } from './diary.ts';
import { waitingViolations } from './waiting-rules.ts';

/** Compares what clients were told, what is on record and what the processors did, one by one. */
export async function judge(deployment: Deployment, db: Database, diary: Diary): Promise<Violation[]> {
  const ledger = await readLedger(db, deployment.control);
  const { refunds, events } = ledger;
  return [
    ...ledgerViolations(ledger),
    ...orphanViolations(ledger, true),
    ...waitingViolations(events),
    ...clientViolations(diary.pages, refunds),
    ...exitViolations(deployment),
  ];
}

/** Outages are no reason for a process to end. */
function exitViolations({ apis, workers, sandbox }: Deployment): Violation[] {
  const exits = [...apis, ...workers, sandbox].flatMap(({ unexpectedExits }) => unexpectedExits);
  return exits.map((what) => ({ kind: 'wrong', refundId: null, what }));
}
