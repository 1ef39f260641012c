import { asKnown, type KnownPayment, remainingOf } from '../../payments/payment.ts';
import type { Reads } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { ProcessorFailure } from '../../processors/contract/processor.ts';
import { displayNameOf } from '../../processors/registry.ts';
import {
  type FoundPayment,
  findPayment,
  type PaymentDependencies,
  type PaymentQuestion,
  readProblem,
  unreachable,
} from '../lifecycle/find-payment.ts';
import { type PublicRefund, toPublicRefund } from '../model/refund.ts';
import { type RowJson, refundFrom } from '../model/rows.ts';

/** A payment as clients see it. Amounts are minor units, times in ISO 8601. */
export interface PublicPayment {
  processor: string;
  /** As it was asked for. */
  transactionId: string;
  /** Every id of the payment. */
  ids: string[];
  amount: number;
  /** Lowercase ISO 4217. */
  currency: string;
  chargedAt: string;
  /** Refunded without this service. */
  refundedOutside: number;
  /** Our refunds that have neither failed nor been cancelled. */
  reserved: number;
  /** The part of `reserved` that is completed. */
  refunded: number;
  /** The most that can still be refunded. */
  remaining: number;
  /** Whether a part of it was transferred to a connected account, and whether the platform took a fee. */
  hasTransfer: boolean;
  hasApplicationFee: boolean;
  /** Why its processor cannot refund it at all; null when it can. */
  unrefundable: ProcessorFailure | null;
  /** When it was read at its processor; null when that has to be repeated before the next refund. */
  fetchedAt: string | null;
  /** The newest refunds, newest first. */
  refunds: PublicRefund[];
  /** Whether the payment has older refunds as well. */
  hasMore: boolean;
}

/** The most refunds of a view. */
export const refundsOfView = 100;

/**
 * Views a payment. One that is not stored is read at its processor and not stored; a stored one is brought up to date as by a
 * creation, or shown as stored if its processor does not answer.
 * @throws ServiceError not_found when no processor account of the owner has it. While nothing is stored: service_unavailable if its
 * processor is unreachable or refuses the credentials, processor_error if its answer cannot be read. Also what `chooseAccount`
 * throws.
 */
export async function viewPayment(
  deps: PaymentDependencies & { reads: Reads },
  question: PaymentQuestion,
): Promise<PublicPayment> {
  const found = await findPayment(deps, await deps.lookups.setUp(question), question, 'view');
  if (found === null) throw paymentNotFound();
  const payment = paymentOf(found);
  const { names, refunded, reserved, refunds } = await readRefunds(deps.reads, payment);
  const unrefundable = found.found.kind === 'unrefundable' ? found.found.failure : null;
  const remaining = unrefundable === null ? (remainingOf({ ...payment, reserved }) ?? 0n) : 0n;
  const { transactionId } = question;
  const read = 'facts' in found.found ? found.found.facts.transactionIds : [];
  return {
    processor: found.account.processor,
    transactionId,
    ids: [...new Set([...names, ...read, transactionId])].toSorted(),
    amount: Number(payment.amount),
    currency: payment.currency,
    chargedAt: payment.chargedAt.toISOString(),
    refundedOutside: Number(payment.refundedOutside),
    reserved: Number(reserved),
    refunded: Number(refunded),
    remaining: Number(remaining > 0n ? remaining : 0n),
    hasTransfer: payment.hasTransfer ?? false,
    hasApplicationFee: payment.hasApplicationFee ?? false,
    unrefundable,
    fetchedAt: payment.fetchedAt?.toISOString() ?? null,
    refunds: refunds.slice(0, refundsOfView),
    hasMore: refunds.length > refundsOfView,
  };
}

function paymentOf({ account: { processor }, stored, found, payment }: FoundPayment): KnownPayment {
  // On record, although its processor does not have it any more, as with the credentials of another account.
  const known = payment ?? asKnown(stored.payment);
  if (known !== null) return known;
  if (found.kind === 'not-found') throw paymentNotFound();
  const problem = readProblem(processor, found);
  if (problem !== null) throw problem;
  throw stored.payment === null ? unreachable(processor, found) : notReadYet(processor);
}

/** 503: the payment has refunds, and it could not be read since the first of them. */
function notReadYet(processor: string): ServiceError {
  return new ServiceError(
    'service_unavailable',
    `The payment is on record, but its amount is not known yet, because it could not be read at ${displayNameOf(processor)} yet. Retry in a few seconds, or list its refunds with GET /v1/refunds?transactionId=, which takes the ID that they were requested with.`,
    { retryAfterSeconds: 5 },
  );
}

function paymentNotFound(): ServiceError {
  return new ServiceError(
    'not_found',
    'Payment not found. Check the ID, and that the API key belongs to the environment in which the payment was made.',
  );
}

interface PaymentRefunds {
  names: readonly string[];
  /** Of our refunds that have neither failed nor been cancelled, in minor units. */
  reserved: bigint;
  /** The part of `reserved` that is completed. */
  refunded: bigint;
  /** The newest first, one more than are shown. */
  refunds: PublicRefund[];
}

/** What is stored of a payment's refunds, as of one moment. */
async function readRefunds(reads: Reads, { id }: KnownPayment): Promise<PaymentRefunds> {
  const none: PaymentRefunds = { names: [], reserved: 0n, refunded: 0n, refunds: [] };
  if (id === null) return none;
  const [row] = await reads.query<Omit<PaymentRefunds, 'refunds'> & { refunds: RowJson[] }>(
    `SELECT p.reserved,
       ARRAY(SELECT name FROM payment_name WHERE payment_id = p.id) AS names,
       (SELECT coalesce(sum(amount), 0)::bigint FROM refund WHERE payment_id = p.id AND status = 'completed') AS refunded,
       (SELECT coalesce(json_agg(r ORDER BY r.created_at DESC, r.id DESC), '[]') FROM (
         SELECT * FROM refund WHERE payment_id = p.id ORDER BY created_at DESC, id DESC LIMIT $2) AS r) AS refunds
     FROM payment AS p WHERE p.id = $1`,
    [id, refundsOfView + 1],
  );
  // Joined to another payment meanwhile; the next view finds that one.
  if (row === undefined) return none;
  return { ...row, refunds: row.refunds.map((refund) => toPublicRefund(refundFrom(refund))) };
}
