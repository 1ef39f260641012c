export const refundStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const;

export type RefundStatus = (typeof refundStatuses)[number];

/**
 * Every move of a refund and its cause; the database has the same moves in prisma/functions/refunds/can_move.sql and refuses any other.
 * The only way out of a terminal status is from `completed` to `failed`, when the
 * processor shows that the money came back.
 */
const transitions: Readonly<Record<RefundStatus, Readonly<Partial<Record<RefundStatus, string>>>>> = {
  pending: {
    processing: 'a person approved it',
    cancelled: 'a person rejected it, or the client cancelled it',
  },
  processing: {
    processing: 'an attempt, a lookup or a request that leaves the status as it is',
    completed: 'the processor reports that the money moved',
    failed: 'the processor rejected it, or it could not be sent before the retry deadline',
    cancelled: 'it was never applied, or the processor confirmed the cancellation',
  },
  completed: { failed: 'the processor reports a reversal' },
  failed: {},
  cancelled: {},
};

/** The statuses in which a refund can start. */
export const initialStatuses = ['pending', 'processing'] as const satisfies readonly RefundStatus[];

export type InitialStatus = (typeof initialStatuses)[number];

export function canMove(from: RefundStatus, to: RefundStatus): boolean {
  return Object.hasOwn(transitions[from], to);
}

/** @throws TypeError for a move that is not in the table: a bug of the caller. */
export function checkMove(from: RefundStatus, to: RefundStatus): void {
  if (!canMove(from, to)) throw new TypeError(`A refund cannot move from ${from} to ${to}`);
}

/** True for a refund that has ended. */
export function isTerminal(status: RefundStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
