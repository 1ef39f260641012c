import type { Payment, Refund, RefundWork } from '../../platform/database.ts';
import type { AccountName } from '../../processors/accounts/account.ts';

/** A row in PostgreSQL's JSON: times in ISO 8601, safe integers, bytes in hex. */
export type RowJson = Readonly<Record<string, unknown>>;

/** How the fields are read that JSON has no type for. Without one of them it does not compile, as after a new column of such a type. */
export type Readers<Row> = {
  readonly [Field in keyof Row as NonNullable<Row[Field]> extends bigint | Date | Uint8Array
    ? Field
    : never]-?: (value: never) => NonNullable<Row[Field]>;
};

export const time = (value: string) => new Date(value);
export const bytes = (value: string) => Buffer.from(value.slice('\\x'.length), 'hex');
const integer = (value: number) => BigInt(value);

export function refundFrom(row: RowJson): Refund {
  return fromRow<Refund>(row, {
    ...{ amount: integer, paymentId: integer, fingerprint: bytes },
    ...{ createdAt: time, updatedAt: time, acceptedAt: time, completedAt: time, heldUntil: time },
  });
}

export function workFrom(row: RowJson): RefundWork {
  return fromRow<RefundWork>(row, {
    ...{ dueAt: time, leasedUntil: time, leaseToken: integer, attemptStartedAt: time, unknownSince: time },
    ...{
      approvalRequestedAt: time,
      serverErrorAt: time,
      keyUsedAt: time,
      resyncRequestedAt: time,
      cancelRequestedAt: time,
      retryingSince: time,
    },
    ...{ waitingSince: time, waitingUntil: time, flaggedAt: time },
  });
}

export function paymentFrom({ id: _id, ...row }: RowJson): Omit<Payment, 'id'> {
  return fromRow<Omit<Payment, 'id'>>(row, {
    ...{ amount: integer, refundedOutside: integer, reserved: integer },
    ...{ chargedAt: time, fetchedAt: time, staleSince: time, disputedAt: time, createdAt: time },
  });
}

export function accountFrom(row: RowJson): AccountName {
  return fromRow<AccountName>(row, { usedAt: time, updatedAt: time, workedAt: time, misconfiguredAt: time });
}

/** The row as the database client returns it. */
export function fromRow<Row>(row: RowJson, readers: Readers<Row>): Row {
  const read: Readonly<Record<string, ((value: never) => unknown) | undefined>> = readers;
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const field = camelCase(column);
      return [field, value === null ? null : (read[field]?.(value as never) ?? value)];
    }),
  ) as Row;
}

/** Words of clients, people and processors, stored as they are. */
const verbatim: ReadonlySet<string> = new Set(['metadata', 'detail', 'facts', 'arrival', 'options']);

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
