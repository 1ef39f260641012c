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

function readValue(column: string, value: unknown): unknown {
  if (value === null) return null;
  if (integers.has(column)) return BigInt(value as number);
  if (column === 'fingerprint') return Buffer.from((value as string).slice('\\x'.length), 'hex');
  return /_(at|since|until)$/.test(column) ? new Date(value as string) : value;
}

const names = new Map<string, string>();

function camelCase(column: string): string {
  let name = names.get(column);
  if (name === undefined) {
    name = column.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
    names.set(column, name);
  }
  return name;
}
