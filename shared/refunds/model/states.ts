/** The statuses of a refund, as clients see them. */
export const refundStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const;

export type RefundStatus = (typeof refundStatuses)[number];

/**
 * Every move a refund can make and what causes it. The one way out of a terminal status is `completed` to `failed`,
 * on evidence from the processor that the money came back.
 */
export const transitions: Readonly<Record<RefundStatus, Readonly<Partial<Record<RefundStatus, string>>>>> = {
  pending: {
    processing: 'a person approved it',
    cancelled: 'a person rejected it, or the client cancelled it',
  },
  processing: {
    processing: 'an attempt, a lookup or a request that leaves the status as it is',
    completed: 'the processor says that the money moved',
    failed: 'the processor rejected it, or it could not be sent within its horizon',
    cancelled: 'it was surely never applied, or the processor confirmed the cancellation',
  },
  completed: {
    failed: 'the processor says that the money came back',
  },
  failed: {},
  cancelled: {},
};

/** The status every refund starts in, by whether a person has to approve it first. */
export function initialStatus(approvalRequired: boolean): RefundStatus {
  return approvalRequired ? 'pending' : 'processing';
}

export function canMove(from: RefundStatus, to: RefundStatus): boolean {
  return Object.hasOwn(transitions[from], to);
}

/** @throws TypeError for a move that is not in the table, which is a bug of the caller. */
export function checkMove(from: RefundStatus, to: RefundStatus): void {
  if (!canMove(from, to)) throw new TypeError(`A refund cannot move from ${from} to ${to}`);
}

/** True while the refund's amount counts against what can still be refunded. */
export function holdsReservation(status: RefundStatus): boolean {
  return status !== 'failed' && status !== 'cancelled';
}

/** True when nothing is left to do for the service itself. */
export function isTerminal(status: RefundStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
