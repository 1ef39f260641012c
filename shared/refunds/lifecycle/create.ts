import { setTimeout as sleep } from 'node:timers/promises';
import { asKnown, type PaymentFacts, remainingOf } from '../../payments/payment.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  type Database,
  isDatabaseUnavailable,
  isNothingDone,
  type Payment,
  type Refund,
  type Stores,
} from '../../platform/database.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { RefundQueues } from '../../platform/queues.ts';
import { requestDigestOf } from '../../platform/secrets/request-digest.ts';
import type { Bounds } from '../../policies/bounds.ts';
import { detailOfDecision } from '../../policies/decision.ts';
import type { ProcessorPayment } from '../../processors/contract/processor.ts';
import type { RefundOptions } from '../../processors/contract/refund-options.ts';
import { storable, sumOfLive } from '../changes/record-payment.ts';
import { keyReused, nothingLeft, notKnown } from '../model/refusals.ts';
import { type RowJson, refundFrom } from '../model/rows.ts';
import { comparedOwnerSql } from '../queries/refund-filter.ts';
import {
  balanceProblem,
  type Decision,
  decideRefund,
  type IdempotencyKey,
  type RefundRequest,
} from './decide.ts';
import type { ExaminationDependencies } from './examine.ts';
import type { RefundStatements } from './statements.ts';

export interface CreatedRefund {
  refund: Refund;
  /** True when an earlier request with the same key created it. */
  isReplayed: boolean;
}

/** An item of `create_refunds`. */
export type CreationItem = Omit<
  RefundRequest,
  'apiKey' | 'processor' | 'account' | 'connectedAccount' | 'options' | 'idempotency' | 'amount'
> &
  Pick<Refund, 'id' | 'accountId' | 'processor' | 'status' | 'amount'> &
  Partial<Pick<Refund, 'isConnected' | 'apiKeyId' | 'idempotencyKey'>> & {
    eventId: string;
    /** What was decided, for the timeline. */
    detail?: object;
    approvalEventId?: string | null;
    approvalPolicy?: string | null;
    auditId?: string | null;
    fingerprint?: Uint8Array | null;
    payment?: Partial<StoredFacts & Pick<ProcessorPayment, 'transactionIds'>> | null;
    bounds?: Bounds | null;
    holdSeconds?: number | null;
    options?: RefundOptions | null;
    isRemaining?: boolean;
    isRepeated?: true;
  };

type StoredFacts = Pick<
  Payment,
  | 'externalId'
  | 'amount'
  | 'currency'
  | 'chargedAt'
  | 'refundedOutside'
  | 'fetchedAt'
  | 'hasTransfer'
  | 'transferDestination'
  | 'hasApplicationFee'
>;

export type CreationResult =
  | { outcome: 'created' | 'replayed'; refund: Refund }
  | { outcome: 'refused'; payment: Omit<Payment, 'id'> }
  | { outcome: 'reused' | 'limited' | 'unread' | 'late' };

/**
 * What all statements of a creation have in common, also after another decision: a late one cannot store a second refund under
 * the same id.
 */
interface Attempt {
  id: string;
  /** True once the outcome of a statement was unknown. */
  isRepeated?: true;
}

/** How often a creation is decided again because of concurrent changes. */
const maxDecisions = 5;

/** What creates a refund needs. */
export interface CreationDependencies extends ExaminationDependencies, Stores {
  statements: RefundStatements;
  queues: RefundQueues;
}

/**
 * Creates a refund: checks it against the payment and the policies, replays its key or stores it in one statement, and
 * wakes a worker. Nothing has been sent to the processor yet. A key whose refund was overtaken is decided about again, once and
 * within an hour.
 * @returns the refund, `processing`, or `pending` when it awaits approval; a replayed one in its current state.
 * @throws ServiceError as in the public contract of a creation. A request that created no refund does not bind its key.
 */
export async function createRefund(
  deps: CreationDependencies,
  request: RefundRequest,
): Promise<CreatedRefund> {
  const created = await createOnce(deps, request);
  if (!wasOvertaken(request, created.refund)) return created;
  if (mayDecideAgain(deps, created.refund)) return await createOnce(deps, secondOf(request));
  return (await boundTo(deps, secondOf(request))) ?? created;
}

/** How long after a refund of all that was left has failed a repetition of its request may move money: later ones ask for its answer. */
const longestRetryMs = 60 * 60 * 1000;

function mayDecideAgain({ clock }: { clock: Clock }, { updatedAt }: Pick<Refund, 'updatedAt'>): boolean {
  return clock.now().getTime() - updatedAt.getTime() < longestRetryMs;
}

/**
 * True for a refund of all that was left that its processor has rejected because less was left: refunds made elsewhere were not
 * known yet. It has moved nothing.
 */
export function wasOvertaken(
  { amount }: Pick<RefundRequest, 'amount'>,
  { status, externalRefundId, failureCode }: Pick<Refund, 'status' | 'externalRefundId' | 'failureCode'>,
): boolean {
  if (amount !== 'remaining' || status !== 'failed' || externalRefundId !== null) return false;
  return failureCode === 'amount_too_large' || failureCode === 'already_refunded';
}

/**
 * A request that is decided about again. Its key is another one here and at the processor, which may have kept its answer to the
 * first; no client can send a key with line breaks.
 */
function secondOf(request: RefundRequest): RefundRequest {
  const { idempotency } = request;
  return { ...request, idempotency: idempotency && { ...idempotency, key: `${idempotency.key}\n\nagain` } };
}

async function createOnce(deps: CreationDependencies, request: RefundRequest): Promise<CreatedRefund> {
  try {
    const attempt: Attempt = { id: newId('ref') };
    for (let decision = 1; decision <= maxDecisions; decision += 1) {
      const created = await decideAndRecord(deps, request, attempt);
      if (created === null) continue;
      const { isReplayed, refund } = created;
      if (!isReplayed && refund.status === 'processing' && refund.heldUntil === null)
        deps.queues.wake(created.refund.processor);
      return created;
    }
    throw new ServiceError(
      'service_unavailable',
      'The payment is being changed by other requests. Retry the request.',
      { retryAfterSeconds: 1 },
    );
  } catch (error) {
    if (!(error instanceof ServiceError) || isFinal.has(error.code)) throw error;
    // A request that would be refused now may have created a refund the first time.
    const replayed = await boundTo(deps, request);
    if (replayed === null) throw error;
    return replayed;
  }
}

/** Errors after which looking up the key is pointless. */
const isFinal: ReadonlySet<ErrorCode> = new Set(['idempotency_key_reused', 'internal_error']);

/** @returns null when a concurrent change requires another decision. */
async function decideAndRecord(
  deps: CreationDependencies,
  request: RefundRequest,
  attempt: Attempt,
): Promise<CreatedRefund | null> {
  const decision = await decideRefund(deps, request, 'creation');
  if (decision.refusal !== null) throw decision.refusal;
  return createdBy(request, await record(deps, itemOf(request, decision), attempt));
}

function itemOf(
  request: RefundRequest,
  { account, amount, options, verdict, status, holdSeconds, unstored }: Decision,
): Omit<CreationItem, keyof Attempt> {
  const { apiKey, idempotency, account: _named, connectedAccount: _connected, ...fields } = request;
  return {
    ...fields,
    accountId: account.id,
    processor: account.processor,
    isConnected: account.parentId !== null,
    amount,
    isRemaining: request.amount === 'remaining',
    apiKeyId: apiKey?.id ?? null,
    status,
    holdSeconds: holdSeconds === 0 ? null : holdSeconds,
    eventId: newId('evt'),
    options,
    detail: { ...detailOfDecision(verdict), ...detailOfOptions(options) },
    approvalEventId: status === 'pending' ? newId('evt') : null,
    // Null when only the key's limits require it.
    approvalPolicy: verdict?.exceeded.some(({ of }) => of !== 'key') === true ? verdict.policyName : null,
    // Requests of API keys are in the timeline only.
    auditId: request.actor.startsWith('user:') ? newId('aud') : null,
    idempotencyKey: idempotency && requestDigestOf(request, idempotency.key),
    fingerprint: idempotency?.fingerprint ?? null,
    payment: unstored === null ? null : factsOf(unstored),
    bounds: verdict?.bounds ?? null,
  };
}

/** What goes with the refund, without the address of the customer, which would stay in the timeline. */
function detailOfOptions(options: RefundOptions | null): object {
  if (options === null) return {};
  const { instructionsEmail, ...rest } = options;
  return { options: { ...rest, ...(instructionsEmail !== undefined && { instructionsEmail: true }) } };
}

/** The facts of a payment that is not stored yet. */
function factsOf(found: PaymentFacts): NonNullable<CreationItem['payment']> {
  if (found.kind !== 'read') return {};
  const { transactionIds, refunds } = found.facts;
  return { transactionIds, ...storable(found.facts, sumOfLive(refunds), 0n, found.readAt) };
}

/** How long a statement is repeated whose connection broke. */
const repeatMs = 3_000;

/**
 * Stores the refund. When the connection breaks, the outcome is unknown; repeating the statement with the same id resolves it.
 * @throws ServiceError internal_error when the outcome stays unknown; the database's error when nothing was done.
 */
async function record(
  deps: CreationDependencies,
  item: Omit<CreationItem, keyof Attempt>,
  attempt: Attempt,
): Promise<CreationResult> {
  const since = performance.now();
  for (;;) {
    try {
      return await deps.statements.create({ ...item, ...attempt });
    } catch (error) {
      if (!attempt.isRepeated && (!isDatabaseUnavailable(error) || isNothingDone(error))) throw error;
      attempt.isRepeated = true;
      // A repetition that is locked may be waiting for the first session, which can still commit.
      if (!isDatabaseUnavailable(error) || performance.now() - since > repeatMs) throw notKnown(error);
      await sleep(100);
    }
  }
}

function createdBy(request: RefundRequest, result: CreationResult): CreatedRefund | null {
  switch (result.outcome) {
    case 'created':
    case 'replayed':
      return { refund: result.refund, isReplayed: result.outcome === 'replayed' };
    case 'reused':
      throw keyReused();
    case 'late':
      throw new ServiceError(
        'service_unavailable',
        'This took too long, and nothing was stored. It is tried again.',
      );
    case 'refused': {
      const paid = asKnown(result.payment);
      throw (paid && balanceProblem(request, paid.currency, remainingOf(paid) ?? 0n)) ?? nothingLeft();
    }
    case 'limited':
    case 'unread':
      return null;
  }
}

/**
 * The refund that a request with the same key gets; null when one would be created.
 * @throws ServiceError idempotency_key_reused when the key was used with another request.
 */
export async function findByKey(deps: Stores, request: RefundRequest): Promise<CreatedRefund | null> {
  const found = await boundTo(deps, request);
  if (found === null || !wasOvertaken(request, found.refund)) return found;
  const second = await boundTo(deps, secondOf(request));
  return second ?? (mayDecideAgain(deps, found.refund) ? null : found);
}

async function boundTo({ db }: { db: Database }, request: RefundRequest): Promise<CreatedRefund | null> {
  const { idempotency } = request;
  if (idempotency === null) return null;
  const key = requestDigestOf(request, idempotency.key);
  // Two lookups, each by its own unique index.
  const [row] = await db.$queryRaw<{ refund: RowJson }[]>`
    SELECT to_json(r) AS refund FROM refund AS r
    WHERE ${comparedOwnerSql(request)} AND idempotency_key = ${key}
    UNION ALL
    SELECT to_json(r) FROM refund AS r
    WHERE ${comparedOwnerSql(request)} AND cancel_key = ${key}`;
  if (row === undefined) return null;
  const refund = refundFrom(row.refund);
  if (refund.idempotencyKey !== key) throw keyReused();
  if (!isSameRequest(refund, request, idempotency)) throw keyReused();
  return { refund, isReplayed: true };
}

/**
 * A refund that was put back after a restore has no fingerprint, and its request may have been for all that was left; see
 * create_refunds.sql.
 */
function isSameRequest(
  { fingerprint, amount, currency }: Refund,
  request: RefundRequest,
  idempotency: IdempotencyKey,
): boolean {
  const isSameAmount = request.amount === 'remaining' || amount === request.amount;
  if (fingerprint === null) return isSameAmount && currency === request.currency;
  return Buffer.compare(fingerprint, idempotency.fingerprint) === 0;
}
