import type { Prisma } from '../../../shared/platform/database.ts';

/** One write as the database client gets it. */
export type Write =
  | { kind: 'statement'; sql: Prisma.Sql }
  | { kind: 'model'; model: string; method: string; data: Record<string, unknown> };

/** That a refund has to be read again: the one write on it that needs no lease. */
const requestOfResync = 'request of a resync';

/** Functions of the core that change something. */
const functions =
  /\b(create_refunds|claim_refunds|record_refunds|cancel_refund|request_resync|move_refunds)\(/;

/** False for what only reads or locks. */
export function isWriteStatement({ text }: Prisma.Sql): boolean {
  return functions.test(text) || !/^\s*SELECT/i.test(text);
}

/**
 * What a write is, in the words of the crash points. What the timeline tells goes by the types of its entries; everything
 * else by what it changes.
 * @throws Error for a write that has no name yet: a new step needs its crash points.
 */
export function nameOfWrite(write: Write): string {
  if (write.kind === 'model') return nameOfModelWrite(write);
  const text = write.sql.text.replace(/\s+/g, ' ').trim();
  const known = statements.find(([pattern]) => pattern.test(text));
  if (known === undefined) throw new Error(`This statement has no name for its crash points: ${text}`);
  return known[1](write.sql);
}

const statements: readonly [pattern: RegExp, name: (sql: Prisma.Sql) => string][] = [
  [/create_refunds\(/, () => 'refund.created'],
  [/claim_refunds\(/, () => 'claim'],
  [/record_refunds\(/, nameOfFinding],
  [/cancel_refund\(/, () => 'cancellation'],
  [/request_resync\(/, () => requestOfResync],
  [/move_refunds\(/, eventTypeIn],
  [/^UPDATE refund_work SET leased_until = /, () => 'renewal of the lease'],
  [/^UPDATE refund_work SET enqueued_at/, () => 'mark of what is due'],
  [/^UPDATE payment SET fetched_at = NULL/, () => 'mark of stale payments'],
  [/^INSERT INTO payment /, () => 'place for the payment'],
  [/^WITH flagged AS .* DELETE FROM refund_work/, () => 'end of the work'],
];

/** The types of the entries that a finding adds to the timeline. */
function nameOfFinding({ values }: Prisma.Sql): string {
  const [finding] = JSON.parse(String(values[0])) as { entries: { type: string }[] }[];
  return finding?.entries.map(({ type }) => type).join(' and ') || 'release of the lease';
}

function eventTypeIn({ values }: Prisma.Sql): string {
  const [, type] = /"type":"([a-z._]+)"/.exec(values.join(' ')) ?? [];
  if (type === undefined) throw new Error('An entry was written whose type is not to be seen.');
  return type;
}

function nameOfModelWrite({ model, method, data }: Extract<Write, { kind: 'model' }>): string {
  const columns = Object.keys(data);
  if (model === 'payment' && method === 'update') return "the payment's facts";
  if (model === 'processorAccount') {
    if (columns.includes('throttledUntil')) return 'rest of the account';
    if (columns.includes('misconfiguredAt')) return 'mark of the account';
  }
  throw new Error(`This write has no name for its crash points: ${model}.${method} of ${columns.join(', ')}`);
}
