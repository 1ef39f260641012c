/** Statements of the core, named by their timeline events or by what they change. */
const statements = [
  'refund.created',
  'claim to verify',
  'claim to send',
  'claim to look_up',
  'claim to settle',
  'claim to cancel',
  'claim to cancel_at_processor',
  'claim to review',
  'attempt.accepted',
  'attempt.misconfigured',
  'attempt.unavailable',
  'attempt.unknown',
  'lookup.found',
  'lookup.found and refund.completed',
  'lookup.found and refund.failed',
  'lookup.absent',
  'lookup.flagged',
  'lookup.inconclusive',
  'lookup.unanswered',
  'settlement.flagged',
  'settlement.progress',
  'cancellation',
  'cancel.refused',
  'cancel.unanswered',
  'refund.completed',
  'refund.failed',
  'refund.cancelled',
  'release of the lease',
];

/** Other writes with their own commit. */
const writes = [
  'renewal of the lease',
  'pause of the account',
  'mark of the account',
  'place for the payment',
  'connected account',
];

const transactions = ["commit of the payment's facts", 'commit of the mark of a stale payment'];

const reads = ['getPayment', 'findRefund', 'getRefund'];

/** Calls that change the processor's state; a process may also be killed during one. */
const calls = ['createRefund', 'cancelRefund'];

const wakeUps = ['wake-up'];

/**
 * Every point at which a process can be killed or frozen: before and after each effect that is visible outside of it, and
 * between a statement of the core and its answer. The step of a claim is known only afterwards.
 */
export const crashPoints: readonly string[] = [
  'before claim',
  ...statements.filter((name) => !name.startsWith('claim')).map((name) => `before ${name}`),
  ...statements.flatMap((name) => [`answer lost of ${name}`, `after ${name}`]),
  ...[...transactions, ...writes, ...reads, ...calls, ...wakeUps].flatMap((name) => [
    `before ${name}`,
    `after ${name}`,
  ]),
  ...calls.map((name) => `during ${name}`),
];
