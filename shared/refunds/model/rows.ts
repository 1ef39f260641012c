import type { Payment, Refund, RefundWork } from '../../platform/database.ts';

/** A row in PostgreSQL's JSON: times in ISO 8601, safe integers, bytes in hex. */
export type RowJson = Readonly<Record<string, unknown>>;

const integers: ReadonlySet<string> = new Set([
  'amount',
  'payment_id',
  'reserved',
  'refunded_outside',
  'lease_token',
]);

export function refundFrom(row: RowJson): Refund {
  return fromRow<Refund>(row);
}

export function workFrom(row: RowJson): RefundWork {
  return fromRow<RefundWork>(row);
}

export function paymentFrom({ id: _id, ...row }: RowJson): Omit<Payment, 'id'> {
  return fromRow(row);
}

/** The row as the database client returns it. The types follow from the columns' names. */
export function fromRow<Row>(row: RowJson): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [camelCase(column), readValue(column, value)]),
  ) as Row;
}

/** Words of clients, people and processors, stored as they are. */
const verbatim: ReadonlySet<string> = new Set(['metadata', 'detail', 'facts', 'arrival']);

/** Items for a SQL function, as JSON with the names of columns: the reverse of `fromRow`. Null is the same as left out. */
export function toItems(items: object): string {
  return JSON.stringify(toItem(items));
}

function toItem(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(toItem);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  const item: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    if (each !== null) item[snakeCase(name)] = verbatim.has(name) ? each : toItem(each);
  }
  return item;
}

function readValue(column: string, value: unknown): unknown {
  if (value === null) return null;
  if (integers.has(column)) return BigInt(value as number);
  if (column === 'fingerprint') return Buffer.from((value as string).slice('\\x'.length), 'hex');
  return /_(at|since|until)$/.test(column) ? new Date(value as string) : value;
}

const camelCase = keeping((column) =>
  column.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
);
/** The column of a field. */
export const snakeCase = keeping((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

function keeping(translate: (name: string) => string): (name: string) => string {
  const kept = new Map<string, string>();
  return (name) => {
    const known = kept.get(name) ?? translate(name);
    kept.set(name, known);
    return known;
  };
}
