import type { RefundEvent } from '#shared/platform/database.ts';
import type { RefundOptions } from '#shared/processors/contract/refund-options.ts';
import { canMove } from '#shared/refunds/model/states.ts';
import { groupBy } from '../group-by.ts';
import { type Ledger, type Movement, namelessId, ownerOf } from './ledger.ts';
import type { RefundRecord } from './refund-records.ts';

/** A promise that was broken. */
export interface Violation {
  /**
   * `lost`: what was promised did not happen. `doubled`: it happened twice. `misdirected`: it happened at another account. `wrong`: the
   * books do not tell the truth.
   */
  kind: 'lost' | 'doubled' | 'misdirected' | 'wrong';
  refundId: string | null;
  what: string;
}

/**
 * The invariants: holds our records against the processors' ledger, refund by refund. At most one movement per refund asked and
 * none that no one asked for, at the account of the refund, completed here means moved there with the same amount and options, failed or cancelled here means not moved,
 * what is reserved is the sum of the live refunds, timelines have no gaps and end where the refund stands, and what is processing
 * is always due.
 * @param allowsForeign true where a test refunds payments outside of the service, without a name of ours.
 */
export function ledgerViolations(ledger: Ledger, allowsForeign = false): Violation[] {
  return [
    ...movementViolations(ledger),
    ...orphanViolations(ledger, allowsForeign),
    ...reservationViolations(ledger),
    ...timelineViolations(ledger),
    ...workViolations(ledger),
  ];
}

function orphanViolations({ movements, refunds }: Ledger, allowsForeign: boolean): Violation[] {
  return movements
    .filter(({ key }) => !allowsForeign || key.startsWith('ref_'))
    .filter((movement) => ownerOf(movement, refunds) === null)
    .map((movement) => wrong(null, `nobody asked for the movement ${JSON.stringify(movement)}`));
}

/** Processor statuses under which money did not stay moved. */
const unmoved = new Set(['failed', 'canceled', 'processor_declined', 'settlement_declined']);

function movementViolations({ refunds, movements, accounts }: Ledger): Violation[] {
  const byPayment = groupBy(refunds, ({ transactionId }) => namelessId(transactionId));
  const byOwner = groupBy(
    movements,
    (movement) => ownerOf(movement, byPayment.get(namelessId(movement.transactionId)) ?? [])?.id,
  );
  return refunds.flatMap((refund) => {
    const entries = byOwner.get(refund.id) ?? [];
    const name = accounts.get(refund.accountId);
    const misdirected = entries.filter((entry) => accountNameOf(entry) !== name);
    return [
      ...violationsOf(refund, entries),
      ...misdirected.map((entry): Violation => {
        const what = `of ${name}, moved at ${accountNameOf(entry)}: ${JSON.stringify(entry)}`;
        return { kind: 'misdirected', refundId: refund.id, what };
      }),
    ];
  });
}

/** What we call the account: tests name theirs as the sandbox does. */
function accountNameOf({ processor, account, connectedAccount }: Movement): string {
  return [account ?? processor, ...(connectedAccount === null ? [] : [connectedAccount])].join('/');
}

function violationsOf(refund: RefundRecord, entries: Movement[]): Violation[] {
  const standing = entries.filter((entry) => !unmoved.has(entry.status) && !isVoidedCredit(entry));
  const against = `${refund.status}, ${refund.amount} ${refund.currency}, against ${JSON.stringify(entries)}`;
  const violations: Violation[] = [];
  if (entries.length > 1) {
    violations.push({ kind: 'doubled', refundId: refund.id, what: `more than one movement: ${against}` });
  }
  if (refund.status === 'completed' && standing.length === 0) {
    violations.push({ kind: 'lost', refundId: refund.id, what: `completed and not moved: ${against}` });
  }
  if (refund.status === 'completed' && !standing.every((entry) => isWhatWasAsked(entry, refund))) {
    violations.push(wrong(refund.id, `another sum moved: ${against}`));
  }
  if ((refund.status === 'failed' || refund.status === 'cancelled') && standing.length > 0) {
    violations.push(wrong(refund.id, `${refund.status} and moved: ${against}`));
  }
  return violations;
}

function isVoidedCredit({ status, id, transactionId }: Movement): boolean {
  return status === 'voided' && id !== transactionId;
}

function isWhatWasAsked(moved: Movement, refund: RefundRecord): boolean {
  const { reverseTransfer = false, refundApplicationFee = false } = (refund.options ?? {}) as RefundOptions;
  return (
    BigInt(moved.amount) === refund.amount &&
    moved.currency === refund.currency &&
    moved.transferReversed > 0 === reverseTransfer &&
    moved.applicationFeeRefunded > 0 === refundApplicationFee
  );
}

function reservationViolations({ payments, refunds }: Ledger): Violation[] {
  const byPayment = groupBy(refunds, ({ paymentId }) => paymentId);
  return payments.flatMap((payment) => {
    const live = (byPayment.get(payment.id) ?? []).filter(
      ({ status }) => status !== 'failed' && status !== 'cancelled',
    );
    const sum = live.reduce((total, { amount }) => total + amount, 0n);
    if (payment.reserved === sum) return [];
    const names = payment.names.map(({ name }) => name).join(' ');
    return [wrong(null, `${payment.reserved} reserved of ${names}, its live refunds are ${sum}`)];
  });
}

function timelineViolations({ refunds, events }: Ledger): Violation[] {
  const byRefund = groupBy(events, ({ refundId }) => refundId);
  return refunds.flatMap((refund) => {
    const timeline = byRefund.get(refund.id) ?? [];
    const problem = timelineProblem(timeline);
    if (problem !== null) return [wrong(refund.id, `its timeline ${problem}`)];
    const told = timeline.at(-1)?.status;
    return told === refund.status
      ? []
      : [wrong(refund.id, `its timeline ends ${told}, it is ${refund.status}`)];
  });
}

function timelineProblem(timeline: readonly RefundEvent[]): string | null {
  for (const [index, event] of timeline.entries()) {
    if (event.seq !== index + 1) return `has ${event.seq} in place of ${index + 1}`;
    const before = timeline[index - 1];
    if (before === undefined) continue;
    const hasMoved = event.status !== before.status;
    const from = hasMoved ? before.status : null;
    if (event.previousStatus !== from || (hasMoved && !canMove(before.status, event.status))) {
      return `goes from ${before.status} to ${event.status} by way of ${event.previousStatus} at ${event.seq}`;
    }
  }
  return timeline.length === 0 ? 'is empty' : null;
}

/** A refund in processing is always due at some time, so that the sweep finds it; one that awaits approval never is. */
function workViolations({ refunds }: Ledger): Violation[] {
  return refunds
    .filter(({ status, dueAt }) =>
      status === 'processing' ? dueAt === null : status === 'pending' && dueAt !== null,
    )
    .map(({ id, status, dueAt }) =>
      wrong(id, `is ${status} and due at ${dueAt?.toISOString() ?? 'no time'}`),
    );
}

function wrong(refundId: string | null, what: string): Violation {
  return { kind: 'wrong', refundId, what };
}
