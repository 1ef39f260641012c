import { setTimeout as sleep } from 'node:timers/promises';
import { asKnown, remainingOf } from '../../payments/payment.ts';
import type { PaymentFacts } from '../../payments/read-payment.ts';
import { isDatabaseUnavailable, isNothingDone, type Refund } from '../../platform/database.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { nothingLeft } from '../model/refusals.ts';
import { paymentFrom, type RowJson, refundFrom } from '../model/rows.ts';
import { initialStatus } from '../model/states.ts';
import { balanceProblem, type Decision, decideRefund, type RefundRequest } from './decide.ts';
import type { RefundDependencies } from './dependencies.ts';
import type { RecordedLimits } from './limits.ts';
import { sumOfLive } from './record-payment.ts';
import type { Answer } from './statements.ts';

export interface CreatedRefund {
  refund: Refund;
  /** True when an earlier request with the same key created it. */
  isReplayed: boolean;
}

/** How often a creation is decided again because of concurrent changes. */
const maxDecisions = 5;

/**
 * Creates a refund: checks it against the payment and the policies, replays its key or stores it in one statement, and
 * enqueues it. Nothing has been sent to the processor yet.
 * @returns the refund, `processing`, or `pending` when it awaits approval; a replayed one in its current state.
 * @throws ServiceError as in the public contract of a creation. A request that created no refund does not bind its key.
 */
export async function createRefund(deps: RefundDependencies, request: RefundRequest): Promise<CreatedRefund> {
  try {
    for (let decision = 1; decision <= maxDecisions; decision += 1) {
      const created = await decideAndRecord(deps, request);
      if (created === null) continue;
      if (!created.isReplayed && created.refund.status === 'processing') deps.queues.enqueue(created.refund);
      return created;
    }
    throw new ServiceError(
      'service_unavailable',
      'The payment is being changed by other requests. Retry the request.',
      {
        retryAfterSeconds: 1,
      },
    );
  } catch (error) {
    if (!(error instanceof ServiceError) || isFinal.has(error.code)) throw error;
    // A request that would be refused now may have created a refund the first time.
    const replayed = await findByKey(deps, request);
    if (replayed === null) throw error;
    return replayed;
  }
}

/** Errors after which looking up the key is pointless. */
const isFinal: ReadonlySet<ErrorCode> = new Set(['idempotency_key_reused', 'internal_error']);

/** @returns null when a concurrent change requires another decision. */
async function decideAndRecord(
  deps: RefundDependencies,
  request: RefundRequest,
): Promise<CreatedRefund | null> {
  const decision = await decideRefund(deps, request, false);
  if (decision.refusal !== null) throw decision.refusal;
  const answer = await record(deps, itemOf(request, decision));
  return createdBy(request, answer);
}

function itemOf(
  request: RefundRequest,
  { processor, verdict, approvalRequired, limits, unstored }: Decision,
): object {
  const { idempotency } = request;
  return {
    id: newId('ref'),
    organization_id: request.organizationId,
    environment: request.environment,
    processor,
    transaction_id: request.transactionId,
    amount: request.amount,
    currency: request.currency,
    reason: request.reason,
    metadata: request.metadata ?? undefined,
    initiated_by: request.initiatedBy,
    api_key_id: request.apiKey?.id,
    actor: request.actor,
    status: initialStatus(approvalRequired),
    event_id: newId('evt'),
    approval_event_id: approvalRequired ? newId('evt') : undefined,
    // Null when only the key's limits require it.
    approval_policy: verdict?.approvalRequired === true ? verdict.policyName : undefined,
    // Requests of API keys are in the timeline only.
    audit_id: request.actor.startsWith('user:') ? newId('aud') : undefined,
    idempotency_key: idempotency?.key,
    fingerprint: idempotency === null ? undefined : asBytea(idempotency.fingerprint),
    payment: unstored === null ? undefined : factsOf(unstored),
    limits: limits === null ? undefined : limitColumns(limits, request.actor),
  };
}

function limitColumns(limits: RecordedLimits, actor: string): object {
  const { minTaken, maxTaken, maxRefunds, dayCount, dayAmount, keyDay } = limits;
  const { requesterDayCount, requesterDayAmount } = limits;
  const countsRequester = requesterDayCount !== undefined || requesterDayAmount !== undefined;
  return {
    min_taken: minTaken,
    max_taken: maxTaken,
    max_refunds: maxRefunds,
    day_count: dayCount,
    day_amount: dayAmount,
    api_key_id: keyDay?.apiKeyId,
    key_day_amount: keyDay?.maxPerDay,
    requester: countsRequester ? actor : undefined,
    requester_day_count: requesterDayCount,
    requester_day_amount: requesterDayAmount,
  };
}

/** The facts of a payment that is not stored yet. */
function factsOf(found: PaymentFacts): object {
  if (found.kind !== 'read') return {};
  const { transactionIds, amount, currency, chargedAt, refunds } = found.facts;
  const outside = sumOfLive(refunds);
  const fits = outside <= amount;
  return {
    transaction_ids: transactionIds,
    amount,
    currency,
    charged_at: chargedAt,
    refunded_outside: fits ? outside : amount,
    fetched_at: fits ? found.readAt : undefined,
  };
}

/** How long a statement is repeated whose connection broke. */
const repeatMs = 3_000;

/**
 * Stores the refund. When the connection breaks, the outcome is unknown; repeating the statement with the same id resolves it.
 * @throws ServiceError internal_error when the outcome stays unknown; the database's error when nothing was done.
 */
async function record(deps: RefundDependencies, item: object): Promise<Answer> {
  const since = performance.now();
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      return await deps.statements.create(isRepeated ? { ...item, is_repeated: true } : item);
    } catch (error) {
      if (!isRepeated && (!isDatabaseUnavailable(error) || isNothingDone(error))) throw error;
      // A repetition that is locked may be waiting for the first session, which can still commit.
      if (!isDatabaseUnavailable(error) || performance.now() - since > repeatMs) throw notKnown(error);
      await sleep(100);
    }
  }
}

function createdBy(request: RefundRequest, { outcome, refund, payment }: Answer): CreatedRefund | null {
  switch (outcome) {
    case 'created':
    case 'replayed':
      return { refund: refundFrom(refund ?? {}), isReplayed: outcome === 'replayed' };
    case 'reused':
      throw keyReused();
    case 'refused': {
      const paid = asKnown(paymentFrom(payment ?? {}));
      throw (paid && balanceProblem(request, paid.currency, remainingOf(paid) ?? 0n)) ?? nothingLeft();
    }
    case 'limited':
    case 'unread':
      return null;
    default:
      throw new Error(`create_refunds returned an unknown outcome: ${outcome}`);
  }
}

/**
 * The refund that an earlier request with the same key created; null for none.
 * @throws ServiceError idempotency_key_reused when the key was used with another request.
 */
export async function findByKey(
  { db }: Pick<RefundDependencies, 'db'>,
  { organizationId, environment, idempotency }: RefundRequest,
): Promise<CreatedRefund | null> {
  if (idempotency === null) return null;
  const { key } = idempotency;
  // Two lookups, each by its own unique index.
  const [row] = await db.$queryRaw<{ refund: RowJson }[]>`
    SELECT to_json(r) AS refund FROM refund AS r
    WHERE organization_id = ${organizationId} AND environment = ${environment}::environment AND idempotency_key = ${key}
    UNION ALL
    SELECT to_json(r) FROM refund AS r
    WHERE organization_id = ${organizationId} AND environment = ${environment}::environment AND cancel_key = ${key}`;
  if (row === undefined) return null;
  const refund = refundFrom(row.refund);
  if (refund.idempotencyKey !== key) throw keyReused();
  if (Buffer.compare(refund.fingerprint ?? Buffer.alloc(0), idempotency.fingerprint) !== 0) throw keyReused();
  return { refund, isReplayed: true };
}

/** 500: the connection broke before the database confirmed the request. */
export function notKnown(cause: unknown): ServiceError {
  return new ServiceError(
    'internal_error',
    'It is unknown whether the request was stored. Retry with the same Idempotency-Key, or check the list of refunds first.',
    { cause },
  );
}

/** 422. */
export function keyReused(): ServiceError {
  return new ServiceError(
    'idempotency_key_reused',
    'This Idempotency-Key was used with another request. Use a new key.',
  );
}

function asBytea(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`;
}
