import type { Prisma, Refund } from '../../shared/db.ts';
import { nextStep } from '../../shared/refunds/next-step.ts';

/** One write as the database client gets it. */
export type Write =
  | { kind: 'statement'; sql: Prisma.Sql }
  | {
      kind: 'model';
      model: string;
      method: string;
      data: Record<string, unknown>;
      where: Record<string, unknown>;
    };

/**
 * What a write is, in the words of the crash points. An event of the timeline goes by its type; everything else is told by
 * what it changes.
 * @param lastRead the refund that the process works on, which tells what it claims it for.
 * @throws Error for a write that has no name yet: a new step needs its crash points.
 */
export function nameOfWrite(write: Write, lastRead: Refund | null): { event: string } | { change: string } {
  if (write.kind === 'model') return { change: nameOfModelWrite(write, lastRead) };
  const text = write.sql.text.replace(/\s+/g, ' ').trim();
  if (text.startsWith('INSERT INTO refund_event')) return { event: eventTypeIn(write.sql) };
  const known = statements.find(([pattern]) => pattern.test(text));
  if (known === undefined) throw new Error(`This statement has no name for its crash points: ${text}`);
  return { change: known[1](lastRead) };
}

/** That a refund has to be read again: the one write on it that needs no lease. */
export const requestOfReview = 'request of a review';

/** False for what only reads or locks. */
export function isWriteStatement({ text }: Prisma.Sql): boolean {
  return !/^\s*SELECT/i.test(text);
}

const statements: readonly [pattern: RegExp, name: (lastRead: Refund | null) => string][] = [
  [/^UPDATE refund SET claimed_until = clock_timestamp.* review_due_at = \$/, () => 'claim to review'],
  [
    /^UPDATE refund SET claimed_until = clock_timestamp.* fencing_token = fencing_token \+ 1/,
    (lastRead) => `claim to ${stepOf(lastRead)}`,
  ],
  [/^UPDATE refund SET claimed_until = clock_timestamp/, () => 'renewal of the lease'],
  [/^UPDATE refund SET claimed_until = NULL.* review_due_at/, () => 'end of the review'],
  [/^UPDATE refund SET woken_at/, () => 'mark of what is due'],
  [/^INSERT INTO transaction /, () => 'place for the payment'],
  [/^UPDATE transaction SET reserved = reserved \+/, () => 'reservation'],
  [/^UPDATE transaction SET reserved = reserved -/, () => 'release of the reservation'],
];

function nameOfModelWrite(
  { model, method, data, where }: Extract<Write, { kind: 'model' }>,
  lastRead: Refund | null,
): string {
  const columns = Object.keys(data);
  const has = (...names: string[]) => names.every((name) => columns.includes(name));
  switch (model) {
    case 'refund':
      if (method === 'create') return 'the refund';
      if (has('status')) return 'the status';
      if (has('claimedUntil', 'nextActionAt')) return `release of the lease to ${stepOf(lastRead)}`;
      if (has('reviewDueAt') && !('fencingToken' in where)) return requestOfReview;
      if (has('wokenAt') && (has('nextActionAt') || has('reviewDueAt'))) return 'postponement';
      break;
    case 'transaction':
      if (method === 'update') return "the payment's facts";
      if (has('fetchedAt')) return "doubt about the payment's facts";
      break;
    case 'processorAccount':
      if (has('throttledUntil')) return 'rest of the account';
      if (has('misconfiguredAt')) return 'mark of the account';
      break;
  }
  throw new Error(`This write has no name for its crash points: ${model}.${method} of ${columns.join(', ')}`);
}

/** What the process is about to do with the refund, or is doing. */
function stepOf(lastRead: Refund | null): string {
  if (lastRead === null) throw new Error('A refund was claimed that had not been read.');
  return nextStep({ ...lastRead, transactionVerified: false, reviewDue: lastRead.reviewDueAt !== null });
}

function eventTypeIn({ values }: Prisma.Sql): string {
  const type = values.find((value) => typeof value === 'string' && /^[a-z]+\.[a-z_]+$/.test(value));
  if (type === undefined) throw new Error('An event was written whose type is not to be seen.');
  return String(type);
}
