/** Database transactions, by the events of the timeline that they write, else by what they change. */
const commits = [
  "the payment's facts",
  'refund.created',
  'attempt.started',
  'attempt.accepted',
  'attempt.accepted and refund.completed',
  'attempt.misconfigured',
  'attempt.unavailable',
  'attempt.unknown',
  'claim to verify',
  'claim to find',
  'lookup.found',
  'lookup.found and refund.completed',
  'lookup.absent',
  'lookup.flagged',
  'lookup.inconclusive',
  'lookup.unanswered',
  'claim to check',
  'claim to review',
  'settlement.flagged',
  'settlement.progress',
  'cancel.requested',
  'claim to ask-cancellation',
  'cancel.refused',
  'cancel.unanswered',
  'refund.completed',
  'refund.failed',
  'refund.cancelled',
];

/** Writes that are committed by themselves. */
const writes = [
  'release of the lease to verify',
  'release of the lease to check',
  'renewal of the lease',
  'postponement',
  "doubt about the payment's facts",
  'rest of the account',
  'mark of the account',
  'end of the review',
  'mark of what is due',
];

const reads = ['getTransaction', 'findRefund', 'getRefund'];

/** Calls that change something at the processor: a process may also die while one is on the wire. */
const calls = ['createRefund', 'cancelRefund'];

const wakes = ['wake', 'wakeAll'];

/** Every point at which a process can be made to die: before and after whatever can be seen from outside of it. */
export const crashPoints: readonly string[] = [
  ...[...commits.map((name) => `commit of ${name}`), ...writes, ...reads, ...calls, ...wakes].flatMap(
    (name) => [`before ${name}`, `after ${name}`],
  ),
  ...calls.map((name) => `during ${name}`),
];
