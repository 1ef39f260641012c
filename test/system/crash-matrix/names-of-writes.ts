import type { Prisma } from '#shared/platform/database.ts';

/** A write to the database. */
export type Write =
  | { kind: 'statement'; sql: Prisma.Sql }
  | { kind: 'model'; model: string; method: string; data: Record<string, unknown> };

/** The only write to a refund that needs no lease. */
const requestOfResync = 'request of a resync';

/** SQL functions that change data. */
const functions =
  /\b(create_refunds|claim_refunds|record_refunds|cancel_refund|request_resync|move_refunds|continue_refund_works|join_payments|note_ability|note_rate_limit)\(/;

/** False for what only reads or locks. */
export function isWriteStatement({ text }: Prisma.Sql): boolean {
  return functions.test(text) || !/^\s*SELECT/i.test(text);
}

/**
 * The name of a write in crash points: the types of its timeline events, else what it changes.
 * @throws Error for a write without a name, because a new step needs its crash points.
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
  [/^UPDATE payment SET fetched_at = NULL/, () => 'the mark of a stale payment'],
  [/^INSERT INTO processor_account/, () => 'connected account'],
  [/join_payments\(/, () => 'place for the payment'],
  [/continue_refund_works\(/, () => 'end of the work'],
  [/note_ability\(/, () => 'mark of the account'],
  [/note_rate_limit\(/, () => 'pause of the account'],
];

function nameOfFinding({ values }: Prisma.Sql): string {
  const [finding] = JSON.parse(String(values[0])) as { entries: { type: string }[] }[];
  return finding?.entries.map(({ type }) => type).join(' and ') || 'release of the lease';
}

function eventTypeIn({ values }: Prisma.Sql): string {
  const [, type] = /"type":"([a-z._]+)"/.exec(values.join(' ')) ?? [];
  if (type === undefined) throw new Error('The type of a timeline event was not found.');
  return type;
}

function nameOfModelWrite({ model, method, data }: Extract<Write, { kind: 'model' }>): string {
  const columns = Object.keys(data);
  if (model === 'Payment' && method === 'update') return "the payment's facts";
  throw new Error(`This write has no name for its crash points: ${model}.${method} of ${columns.join(', ')}`);
}
