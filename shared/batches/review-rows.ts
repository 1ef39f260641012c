import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { formatAmount } from '../money/money.ts';
import { decisiveFreshMs, type KnownPayment, remainingOf } from '../payments/payment.ts';
import { ServiceError } from '../platform/errors.ts';
import { findPayment, type PaymentDependencies, readProblem } from '../refunds/lifecycle/find-payment.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import type { RowContent } from './batch.ts';
import type { RequestedRow, RowReview } from './create-batch.ts';

/** How many payments a review reads, how many at once, and for how long. */
export const reviewLimits = { payments: 100, atOnce: 8, ms: 5_000 };

/** What rows come to, before a person sends them. */
export interface Review {
  /** By the index of the row: what is left, of those that refund that, and why others would be refused. */
  reviews: Map<number, RowReview>;
  /** The indices of rows whose payment was not read. */
  unread: Set<number>;
}

/** A payment, or why it cannot be refunded; null when its processor did not show it in time. */
type Reading = KnownPayment | { refusal: string } | null;

/**
 * Reads the payments of rows, first those of which all that is left is refunded, and compares them with what the rows ask for. Stores no
 * new payment.
 * @param limits a payment beyond them is not read.
 */
export async function reviewRows(
  deps: PaymentDependencies,
  owner: RefundOwner,
  rows: readonly RequestedRow[],
  limits = reviewLimits,
): Promise<Review> {
  const valid = rows.flatMap((row, index) => ('content' in row ? [{ index, ...row.content }] : []));
  const first = valid.toSorted((a, b) => Number(b.remaining ?? false) - Number(a.remaining ?? false));
  const questions = new Map(first.map((row) => [keyOf(row), row]));
  const readings = await readAll(deps, owner, [...questions], limits);
  return compare(valid, readings);
}

type ValidRow = RowContent & { index: number };

function keyOf({ transactionId, processor, account, connectedAccount }: RowContent): string {
  return JSON.stringify([transactionId, processor, account, connectedAccount]);
}

async function readAll(
  deps: PaymentDependencies,
  owner: RefundOwner,
  questions: readonly [key: string, row: ValidRow][],
  limits: typeof reviewLimits,
): Promise<Map<string, Reading>> {
  const setUp = await deps.lookups.setUp(owner);
  const readings = new Map<string, Reading>();
  const end = new AbortController();
  const reading = pLimit(limits.atOnce).map(questions.slice(0, limits.payments), async ([key, row]) => {
    if (end.signal.aborted) return;
    readings.set(key, await read(deps, setUp, { ...row, ...owner }));
  });
  // What is read after the deadline is ignored.
  const inTime = sleep(limits.ms, undefined, { signal: end.signal }).catch(() => undefined);
  try {
    await Promise.race([reading, inTime]);
    return new Map(readings);
  } finally {
    end.abort();
    reading.catch(() => undefined);
  }
}

async function read(
  deps: PaymentDependencies,
  setUp: Awaited<ReturnType<PaymentDependencies['lookups']['setUp']>>,
  question: Parameters<typeof findPayment>[2],
): Promise<Reading> {
  try {
    const use = { freshMs: decisiveFreshMs };
    const known = await findPayment(deps, setUp, question, 'view', use);
    if (known === null) return { refusal: 'No processor account has this payment.' };
    const refused = readProblem(known.account.processor, known.found);
    return refused === null ? known.payment : { refusal: refused.message };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code === 'service_unavailable' ? null : { refusal: error.message };
  }
}

/** Rows of the same payment share what is left of it, in their order. */
function compare(rows: readonly ValidRow[], readings: ReadonlyMap<string, Reading>): Review {
  const review: Review = { reviews: new Map(), unread: new Set() };
  const rowsOf = new Map<string, number>();
  for (const { transactionId } of rows) rowsOf.set(transactionId, (rowsOf.get(transactionId) ?? 0) + 1);
  const left = new Map<string, bigint>();
  for (const row of rows) {
    const key = keyOf(row);
    const reading = readings.get(key) ?? null;
    const isShared = (rowsOf.get(row.transactionId) ?? 0) > 1;
    const result = row.remaining && isShared ? shared : reviewOf(row, reading, left.get(key));
    if (result === null) review.unread.add(row.index);
    else if ('refusal' in result) review.reviews.set(row.index, result);
    else {
      left.set(key, result.left - result.amount);
      if (row.remaining) review.reviews.set(row.index, { amount: Number(result.amount) });
    }
  }
  return review;
}

const shared = {
  refusal: 'Refunds all that is left of a payment that another row refunds as well. Enter an amount.',
};

/** @param rest what rows before it leave of the payment, if there are any. @returns null without the payment. */
function reviewOf(
  { amount, currency }: ValidRow,
  reading: Reading,
  rest: bigint | undefined,
): { left: bigint; amount: bigint } | { refusal: string } | null {
  if (reading === null || 'refusal' in reading) return reading;
  if (currency.toLowerCase() !== reading.currency)
    return { refusal: `The payment is in ${reading.currency.toUpperCase()}. Enter that currency.` };
  const left = rest ?? remainingOf(reading) ?? 0n;
  if (left <= 0n) return { refusal: 'Nothing is left to refund.' };
  const asked = amount === undefined ? left : BigInt(amount);
  if (asked > left) return { refusal: `At most ${formatAmount(left, reading.currency)} is left to refund.` };
  return { left, amount: asked };
}
