import type { ApiKey, Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { fingerprintOf } from '../../platform/secrets/request-digest.ts';
import type { RefundOptions } from '../../processors/contract/refund-options.ts';
import type { InitiatedBy } from '../../refund-request/reasons.ts';
import { changeMetadata, type MetadataPatch } from '../decisions/annotate.ts';
import {
  approveRefund,
  type DecidedRefund,
  type DecisionOutcome,
  rejectRefund,
} from '../decisions/approve.ts';
import { type CancelVerdict, cancelAndWait } from '../lifecycle/cancel.ts';
import {
  type CreatedRefund,
  type CreationDependencies,
  createRefund,
  wasOvertaken,
} from '../lifecycle/create.ts';
import type { IdempotencyKey, RefundRequest } from '../lifecycle/decide.ts';
import type { RequestingKey } from '../lifecycle/examine.ts';
import type { RefundWatcher, WatchedRefund } from '../lifecycle/refund-watcher.ts';
import {
  asCreated,
  heldUntilOf,
  type PublicRefund,
  type RefundDetails,
  toPublicRefund,
} from '../model/refund.ts';
import { keepsChanging, nothingLeft } from '../model/refusals.ts';
import { isTerminal } from '../model/states.ts';
import { type RefundReading, type RefundReads, readRefund } from '../queries/find-refunds.ts';

// What clients with API keys request of refunds, whichever way they are connected.

interface RequestDependencies extends CreationDependencies {
  watcher: RefundWatcher;
  refundReads: RefundReads;
}

/** What came of a request that can be repeated with the same idempotency key. */
export interface RequestOutcome<Answer> {
  answer: Answer | ServiceError;
  /** True when an earlier request with the same key had it. */
  isReplayed: boolean;
  /** The refund that is on record although the request was refused. */
  recordedAs?: string;
  /** The refund of a creation. */
  created?: { id: string; isNew: boolean };
}

/** An idempotency key as it was given, or derived from other content than that of the request, which has this fingerprint. */
export type GivenKey = Pick<IdempotencyKey, 'key'> & Partial<IdempotencyKey>;

/** The content of a request for a refund. The currency may be in capitals. */
export type RefundContent = Pick<RefundRequest, 'transactionId' | 'currency' | 'reason'> & {
  /** Minor units; left out for all that is left. */
  amount?: number | undefined;
  /** True for all that is left, without an `amount`. */
  remaining?: true | undefined;
  processor?: string | undefined;
  account?: string | undefined;
  connectedAccount?: string | undefined;
  options?: { [Option in keyof RefundOptions]: RefundOptions[Option] | undefined } | undefined;
  metadata?: RefundRequest['metadata'] | undefined;
};

/** The request of an API key for a refund. */
export function refundRequestedBy(
  apiKey: Pick<ApiKey, 'id' | 'organizationId' | 'environment' | 'agentLimits'>,
  initiatedBy: InitiatedBy,
  content: RefundContent,
  given: GivenKey | null,
): RefundRequest {
  const { amount, remaining: _, currency, metadata = null, processor, options, ...rest } = content;
  const { organizationId, environment } = apiKey;
  return {
    ...rest,
    organizationId,
    environment,
    apiKey,
    initiatedBy,
    actor: `key:${apiKey.id}`,
    amount: amount === undefined ? 'remaining' : BigInt(amount),
    currency: currency.toLowerCase(),
    processor,
    // A field that is left out is not there.
    options: options as RefundOptions | undefined,
    metadata,
    idempotency: given && {
      fingerprint: fingerprintOfCreation(content),
      ...given,
      key: ownedKey(apiKey, given.key),
    },
  };
}

/**
 * An idempotency key as it is bound: those of an agent key are its own, so that an agent, who may guess another client's keys,
 * cannot bind them first. A line break cannot be part of a key, so no other client can name an agent's.
 */
export function ownedKey({ id, agentLimits }: RequestingKey, key: string): string {
  return agentLimits === null ? key : `${id}\n${key}`;
}

/** What idempotency keys of creations are bound to: not how a currency is written, or that there is no metadata. */
export function fingerprintOfCreation({
  metadata,
  currency,
  ...content
}: RefundContent): Uint8Array<ArrayBuffer> {
  return fingerprintOf('POST /v1/refunds', {
    ...content,
    currency: currency.toLowerCase(),
    ...(metadata == null ? {} : { metadata }),
  });
}

/**
 * Creates a refund and waits for the processor's decision. An outcome that is still unknown is no error. A refund of all that is left
 * that was overtaken meanwhile is decided about again, once.
 * @throws ServiceError as `createRefund` does.
 */
export async function createAndWait(
  deps: RequestDependencies,
  request: RefundRequest,
  waitMs: number,
): Promise<RequestOutcome<PublicRefund>> {
  const first = await createRefund(deps, request);
  const latest = await withVerdict(deps, first.refund, waitMs);
  if (!wasOvertaken(request, latest)) return outcomeOf(request, first, latest);
  const second = await createRefund(deps, request);
  return outcomeOf(request, second, await withVerdict(deps, second.refund, waitMs));
}

/** The refund once the processor has decided about it, or as it is after the time. */
async function withVerdict(
  deps: RequestDependencies,
  refund: Refund,
  longestMs: number,
): Promise<Refund | WatchedRefund> {
  // One that is held for longer has no verdict by then.
  const isHeld = heldUntilOf(refund, new Date(+deps.clock.now() + longestMs)) !== null;
  const waits = refund.status === 'processing' && refund.externalRefundId === null && !isHeld;
  const hasVerdict = (watched: WatchedRefund) =>
    watched.externalRefundId !== null || watched.status !== 'processing';
  return (waits ? await deps.watcher.waitFor(refund.id, hasVerdict, longestMs) : null) ?? refund;
}

function outcomeOf(
  request: RefundRequest,
  { refund: { id }, isReplayed }: CreatedRefund,
  latest: Refund | WatchedRefund,
): RequestOutcome<PublicRefund> {
  const created = { id, isNew: !isReplayed };
  if (latest.status === 'failed' && latest.externalRefundId === null) {
    return { answer: rejectionOf(request, latest), isReplayed, recordedAs: id, created };
  }
  // A repeated request gets the refund as it is now.
  const isAsItIs = isReplayed || latest.status === 'pending';
  return { answer: isAsItIs ? toPublicRefund(latest) : asCreated(latest), isReplayed, created };
}

/** The error for a refund that failed while it was created. */
function rejectionOf(
  { amount }: RefundRequest,
  { failureCode, failureMessage }: Pick<Refund, 'failureCode' | 'failureMessage'>,
): ServiceError {
  const message = failureMessage ?? 'The processor rejected the refund.';
  switch (failureCode) {
    case 'already_refunded':
      return nothingLeft();
    case 'amount_too_large':
      if (amount === 'remaining') return keepsChanging(message);
      return new ServiceError('validation_error', `amount: ${message}`);
    case 'currency_mismatch':
      return new ServiceError('validation_error', `currency: ${message}`);
    default:
      return new ServiceError('processor_error', message);
  }
}

/**
 * Reads a refund once its status changes, or after `waitMs` as it is then; at once if the status is final.
 * @throws ServiceError not_found
 */
export async function readWhenChanged(
  deps: RequestDependencies,
  apiKey: ApiKey,
  id: string,
  waitMs: number,
): Promise<RefundReading> {
  const refund = await readRefund(deps.refundReads, apiKey, id);
  if (waitMs === 0 || isTerminal(refund.status)) return refund;
  const hasChanged = (latest: RefundDetails) => latest.status !== refund.status;
  await deps.watcher.waitFor(id, hasChanged, waitMs);
  // What it waits for may have changed without its status.
  return await readRefund(deps.refundReads, apiKey, id);
}

/**
 * Cancels a refund for a key, and waits for the processor's confirmation where it is needed. The limits of an agent key say
 * what it may refund, not whose refunds it may stop, so it cancels only its own.
 * @throws ServiceError as `cancelRefund` does; insufficient_scope for an agent key that did not request the refund.
 */
export async function cancelByKey(
  deps: RequestDependencies,
  apiKey: ApiKey,
  { refundId, given, waitMs }: { refundId: string; given: GivenKey | null; waitMs: number },
): Promise<RequestOutcome<PublicRefund>> {
  const { id, organizationId, environment, agentLimits } = apiKey;
  if (agentLimits !== null && !isOwn(apiKey, await readRefund(deps.refundReads, apiKey, refundId))) {
    throw new ServiceError(
      'insufficient_scope',
      'An agent key may cancel only refunds that it requested. Cancel this one with another key or in the dashboard.',
    );
  }
  const request = { refundId, organizationId, environment, actor: `key:${id}` };
  const verdict = await cancelAndWait(
    deps,
    { ...request, idempotencyKey: given && ownedKey(apiKey, given.key) },
    waitMs,
  );
  const { kind, refund, isReplayed } = verdict;
  return { answer: kind === 'cancelled' ? toPublicRefund(refund) : notCancelled(verdict), isReplayed };
}

/** False for an agent key that did not request the refund. */
export function isOwn({ id, agentLimits }: RequestingKey, { apiKeyId }: Pick<Refund, 'apiKeyId'>): boolean {
  return agentLimits === null || apiKeyId === id;
}

/**
 * Merges metadata into that of a refund, for a key. An agent key changes only refunds that it requested, as with cancellations.
 * @throws ServiceError not_found, insufficient_scope, and as `changeMetadata` does.
 */
export async function changeMetadataByKey(
  deps: RequestDependencies,
  apiKey: ApiKey,
  refundId: string,
  patch: MetadataPatch,
): Promise<PublicRefund> {
  const refund = await readRefund(deps.refundReads, apiKey, refundId);
  if (!isOwn(apiKey, refund)) {
    throw new ServiceError(
      'insufficient_scope',
      'An agent key may change only refunds that it requested. Change this one with another key.',
    );
  }
  return toPublicRefund(await changeMetadata(deps, refund, patch, `key:${apiKey.id}`));
}

/** 409: the refund was not cancelled, or not yet. */
function notCancelled({ kind, refund: { status } }: CancelVerdict): ServiceError {
  const reason =
    kind === 'refused'
      ? 'the processor refused to cancel it'
      : 'the processor has not confirmed the cancellation yet';
  return new ServiceError(
    'refund_not_cancellable',
    status === 'processing'
      ? `The refund is processing and ${reason}. Get the refund to see its outcome.`
      : `The refund is ${status} and can no longer be cancelled.`,
  );
}

/**
 * Approves a refund for a key.
 * @throws ServiceError not_found; refund_not_pending, refund_flagged or payment_disputed when nothing was changed; what `approveRefund` throws.
 */
export async function approveByKey(
  deps: RequestDependencies,
  apiKey: ApiKey,
  id: string,
): Promise<PublicRefund> {
  return refundAfter(await approveRefund(deps, await refundToDecide(deps, apiKey, id), `key:${apiKey.id}`));
}

/**
 * Rejects a refund for a key.
 * @param reason null for none.
 * @throws ServiceError not_found; refund_not_pending when nothing was changed.
 */
export async function rejectByKey(
  deps: RequestDependencies,
  apiKey: ApiKey,
  id: string,
  reason: string | null,
): Promise<PublicRefund> {
  const refund = await refundToDecide(deps, apiKey, id);
  return refundAfter(await rejectRefund(deps, refund, `key:${apiKey.id}`, reason));
}

async function refundToDecide(
  { refundReads }: RequestDependencies,
  apiKey: ApiKey,
  id: string,
): Promise<DecidedRefund> {
  return { ...(await readRefund(refundReads, apiKey, id)), environment: apiKey.environment };
}

function refundAfter({ kind, refund }: DecisionOutcome): PublicRefund {
  if (kind === 'done') return toPublicRefund(refund);
  if (kind === 'not-pending') {
    throw new ServiceError(
      'refund_not_pending',
      `The refund is not awaiting approval: its status is ${refund.status}.`,
    );
  }
  if (kind === 'disputed') {
    throw new ServiceError(
      'payment_disputed',
      'The payment is disputed, so a refund would pay the customer twice. Reject this refund, or approve it once you have won the dispute.',
    );
  }
  throw new ServiceError(
    'refund_flagged',
    'The processor has a second refund with the reference of this one. Reject this refund, or dismiss its flag in the dashboard and approve it again.',
  );
}
