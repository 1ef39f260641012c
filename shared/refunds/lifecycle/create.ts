import { setTimeout as sleep } from 'node:timers/promises';
import { asKnown, type KnownPayment, remainingOf } from '../../payments/payment.ts';
import { type PaymentFacts, readFacts } from '../../payments/read-payment.ts';
import { isDatabaseUnavailable, isNothingDone, type Refund } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { paymentFrom, refundFrom } from '../../platform/rows.ts';
import { bindsInitiator, decidePolicy } from '../../policies/decide.ts';
import type { PolicyLimits, PolicyVerdict } from '../../policies/policy.ts';
import { chooseAccount } from '../../processors/accounts/choose-account.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import { processorKind } from '../../processors/registry.ts';
import type { InitiatedBy, RefundReason } from '../model/reasons.ts';
import { currencyMismatch, nothingLeft, refusedCredentials, tooLittleLeft } from '../model/refusals.ts';
import { initialStatus } from '../model/states.ts';
import type { RefundDependencies } from './dependencies.ts';
import type { SetUp } from './lookups.ts';
import { recordKnown, sumOfLive } from './record-payment.ts';
import type { Answer } from './statements.ts';

/** A request for a refund, with validated fields. */
export interface RefundRequest {
  organizationId: string;
  environment: Environment;
  apiKeyId: string | null;
  initiatedBy: InitiatedBy;
  /** For the timeline: `key:<id>` or `user:<id>`. */
  actor: string;
  transactionId: string;
  /** Minor units, positive. */
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  reason: RefundReason;
  processor: string | undefined;
  metadata: Record<string, unknown> | null;
  /** Null for a request without an idempotency key. */
  idempotency: IdempotencyKey | null;
}

/** An idempotency key and the SHA-256 of its request. */
export interface IdempotencyKey {
  key: string;
  fingerprint: Uint8Array;
}

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
  const setUp = await deps.lookups.setUp(request);
  const account = await chooseProcessor(deps, setUp, request);
  const { processor } = account;
  const { organizationId, environment, transactionId } = request;
  const key = { organizationId, environment, processor, transactionId };
  const stored = await deps.lookups.payment(key);
  const found = await readFacts(deps, account, transactionId, stored);
  const payment = await knownPayment(deps, key, stored.payment !== null, found);
  if (payment !== null) checkAgainstPayment(request, payment);
  const verdict = await askPolicies(deps, setUp, request, payment, stored.now);
  const answer = await record(deps, {
    ...itemOf(request, processor, verdict),
    payment: stored.payment === null ? factsOf(found) : undefined,
  });
  return createdBy(request, answer);
}

async function chooseProcessor(
  deps: RefundDependencies,
  { accounts }: SetUp,
  request: RefundRequest,
): Promise<AccountName> {
  const account = await chooseAccount(deps, accounts, request);
  if (account === null) {
    throw new ServiceError(
      'processor_error',
      `No processor account has the transaction ${request.transactionId}.`,
    );
  }
  const problem = processorKind(account.processor).amountProblem(request.amount, request.currency);
  if (problem !== null) throw new ServiceError('validation_error', `amount: ${problem}`);
  return account;
}

/** Null while the processor is unreachable: the refund is accepted, and verified before it is sent. */
async function knownPayment(
  deps: RefundDependencies,
  key: Parameters<typeof recordKnown>[1],
  isOnRecord: boolean,
  found: PaymentFacts,
): Promise<KnownPayment | null> {
  switch (found.kind) {
    case 'stored':
      return found.payment;
    case 'read': {
      if (isOnRecord) return await recordKnown(deps, key, found);
      const { amount, currency, chargedAt, refunds } = found.facts;
      const facts = { amount, currency, chargedAt, refundedOutside: sumOfLive(refunds), reserved: 0n };
      return { ...key, ...facts, fetchedAt: found.readAt, staleSince: null, createdAt: found.readAt };
    }
    case 'unreachable':
      return null;
    case 'not-found':
    case 'unrefundable':
      throw new ServiceError('processor_error', found.failure.message);
    case 'misconfigured':
      throw refusedCredentials(key.processor, found.failure);
  }
}

function checkAgainstPayment(request: RefundRequest, payment: KnownPayment): void {
  const problem = problemWith(request, payment.currency, remainingOf(payment) ?? 0n);
  if (problem !== null) throw problem;
}

/** Why a payment does not allow the refund; null when it does. */
function problemWith(request: RefundRequest, currency: string, remaining: bigint): ServiceError | null {
  if (request.currency !== currency) return currencyMismatch(currency);
  if (remaining <= 0n) return nothingLeft();
  return request.amount > remaining ? tooLittleLeft(remaining, currency) : null;
}

async function askPolicies(
  deps: RefundDependencies,
  { policies }: SetUp,
  request: RefundRequest,
  payment: KnownPayment | null,
  now: Date,
): Promise<PolicyVerdict | null> {
  if (payment !== null) {
    const verdict = await decidePolicy(deps.db, { policies, payment, request, now });
    if (verdict.enforced && !verdict.eligible) throw new ServiceError('policy_denied', verdict.reason);
    return verdict;
  }
  // An enforced policy cannot be evaluated without the payment, and must not be skipped.
  if (!policies.some((policy) => bindsInitiator(policy, request.initiatedBy))) return null;
  throw new ServiceError(
    'service_unavailable',
    'The processor is unreachable, and a policy needs the details of the transaction. Retry in a few seconds.',
    { retryAfterSeconds: 5 },
  );
}

function itemOf(request: RefundRequest, processor: string, verdict: PolicyVerdict | null) {
  const approvalRequired = verdict?.approvalRequired ?? false;
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
    api_key_id: request.apiKeyId,
    actor: request.actor,
    status: initialStatus(approvalRequired),
    event_id: newId('evt'),
    approval_event_id: approvalRequired ? newId('evt') : undefined,
    approval_policy: approvalRequired ? verdict?.policyName : undefined,
    // Requests of API keys are in the timeline only.
    audit_id: request.actor.startsWith('user:') ? newId('aud') : undefined,
    idempotency_key: idempotency?.key,
    fingerprint: idempotency === null ? undefined : asBytea(idempotency.fingerprint),
    limits: verdict?.limits == null ? undefined : limitColumns(verdict.limits),
  };
}

function limitColumns({ maxTaken, maxRefunds, dayCount, dayAmount }: PolicyLimits): object {
  return { max_taken: maxTaken, max_refunds: maxRefunds, day_count: dayCount, day_amount: dayAmount };
}

/** The facts of a payment that is not stored yet. */
function factsOf(found: PaymentFacts): object {
  if (found.kind !== 'read') return {};
  const { amount, currency, chargedAt, refunds } = found.facts;
  const outside = sumOfLive(refunds);
  const fits = outside <= amount;
  return {
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
      throw (paid && problemWith(request, paid.currency, remainingOf(paid) ?? 0n)) ?? nothingLeft();
    }
    case 'limited':
    case 'unread':
      return null;
    default:
      throw new Error(`create_refunds returned an unknown outcome: ${outcome}`);
  }
}

/** The refund that an earlier request with the same key created, if any. */
async function findByKey(
  { db }: Pick<RefundDependencies, 'db'>,
  { organizationId, environment, idempotency }: RefundRequest,
): Promise<CreatedRefund | null> {
  if (idempotency === null) return null;
  const refund = await db.refund.findFirst({
    where: { organizationId, environment, idempotencyKey: idempotency.key },
  });
  if (refund === null) return null;
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
