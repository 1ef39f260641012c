import type { Prisma, Refund } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import type { RefundReference } from '../../processors/contract/processor.ts';
import type { RefundOptions } from '../../processors/contract/refund-options.ts';
import { snakeCase } from './rows.ts';

/** The owner of refunds. Refunds of another organization or environment do not exist for it. */
export interface RefundOwner {
  organizationId: string;
  environment: Environment;
}

/** True for text that can be the id of a refund of ours. Other text may not even be a valid value for the database. */
export function isRefundId(id: string): boolean {
  return /^ref_[a-z0-9]{1,64}$/.test(id);
}

/** The fields of the public contract, in their order. */
const publicFields = [
  'id',
  'organizationId',
  'externalRefundId',
  'transactionId',
  'amount',
  'currency',
  'reason',
  'status',
  'processor',
  'metadata',
  'initiatedBy',
  'createdAt',
  'updatedAt',
] as const;

/** What answers may include besides the public fields, and the key that requested the refund. */
const detailFields = [
  'apiKeyId',
  'processorStatus',
  'failureCode',
  'failureMessage',
  'acceptedAt',
  'completedAt',
  'arrival',
  'heldUntil',
  'accountId',
  'options',
] as const;

/** The columns of a refund that answers need. */
export type ReadRefund = Pick<Refund, (typeof publicFields)[number]>;

/** A refund with what answers may include. */
export type RefundDetails = ReadRefund & Pick<Refund, (typeof detailFields)[number]>;

/** The columns of a `ReadRefund`, for SQL that names the refund `r`. */
export const refundColumns = columnsOf(publicFields);

/** The columns of `RefundDetails` that `refundColumns` lacks. */
export const detailColumns = columnsOf(detailFields);

function columnsOf(fields: readonly (keyof Refund)[]): string {
  return fields.map((field) => `r.${snakeCase(field)} AS "${field}"`).join(', ');
}

/** Until when a refund is held before it is sent, and a cancellation is certain to succeed; null when it is not held at `now`. */
export function heldUntilOf(
  { status, externalRefundId, heldUntil }: Pick<Refund, 'status' | 'externalRefundId' | 'heldUntil'>,
  now: Date,
): Date | null {
  const isHeld =
    status === 'processing' && externalRefundId === null && heldUntil !== null && heldUntil > now;
  return isHeld ? heldUntil : null;
}

/** A refund with its open work, if there is any. */
export type RefundWithWork = Prisma.RefundGetPayload<{ include: { work: true } }>;

/** A refund as clients see it: the thirteen fields of the public contract, amounts in minor units. */
export type PublicRefund = Omit<ReadRefund, 'amount' | 'metadata' | 'createdAt' | 'updatedAt'> & {
  amount: number;
  metadata: Record<string, unknown> | null;
  createdAt: string;
  updatedAt: string;
};

/** Amounts fit a number, which is checked at creation. */
export function toPublicRefund(refund: ReadRefund): PublicRefund {
  const read = Object.fromEntries(publicFields.map((field) => [field, refund[field]])) as ReadRefund;
  return {
    ...read,
    amount: Number(read.amount),
    metadata: read.metadata as Record<string, unknown> | null,
    createdAt: read.createdAt.toISOString(),
    updatedAt: read.updatedAt.toISOString(),
  };
}

/** Why a refund failed, or was cancelled because it no longer fits its payment, for clients. */
export interface RefundFailure {
  code: string;
  message: string;
}

/** Null for a refund without a failure code. */
export function toFailure({
  failureCode,
  failureMessage,
}: Pick<Refund, 'failureCode' | 'failureMessage'>): RefundFailure | null {
  return failureCode === null ? null : { code: failureCode, message: failureMessage ?? failureCode };
}

/**
 * A refund that did not require approval, as it was created: processing, even if it has ended since, with the processor's id
 * if it has one by now.
 */
export function asCreated(refund: ReadRefund): PublicRefund {
  const current = toPublicRefund(refund);
  return { ...current, status: 'processing', updatedAt: current.createdAt };
}

/** What goes with a refund to its processor; empty for nothing. */
export function refundOptionsOf({ options }: Pick<Refund, 'options'>): RefundOptions {
  return (options ?? {}) as RefundOptions;
}

/**
 * Identifies a refund at its processor.
 * @param externalPaymentId the payment's own id: that of the request may stand for several payments by now. Null until it was read.
 */
export function referenceTo(refund: Refund, externalPaymentId: string | null): RefundReference {
  const { id, idempotencyKey, amount, currency } = refund;
  const transactionId = externalPaymentId ?? refund.transactionId;
  return { refundId: id, requestDigest: idempotencyKey, transactionId, amount, currency };
}
