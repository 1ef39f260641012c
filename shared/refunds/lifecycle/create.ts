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

/** A refund that is asked for; every field has been validated. */
export interface RefundRequest {
  organizationId: string;
  environment: Environment;
  apiKeyId: string | null;
  initiatedBy: InitiatedBy;
  /** Who asks, for the timeline: `key:<id>` or `user:<id>`. */
  actor: string;
  transactionId: string;
  /** Minor units, positive. */
  amount: bigint;
  /** Lowercase ISO 4217. */
  currency: string;
  reason: RefundReason;
  processor: string | undefined;
  metadata: Record<string, unknown> | null;
  /** Makes a repeated request the same refund; null for a request that is carried out every time. */
  idempotency: IdempotencyKey | null;
}

/** An idempotency key and SHA-256 over the request that it came with. */
export interface IdempotencyKey {
  key: string;
  fingerprint: Uint8Array;
}

/** The refund, and whether an earlier request with the same key made it. */
export interface CreatedRefund {
  refund: Refund;
  isReplayed: boolean;
}

/** Times that a creation is decided anew because what it was decided on has changed. */
const mostDecisions = 5;

/**
 * Accepts a refund: checks it against the payment and the policies, then replays its key or reserves its amount and records
 * it, in one statement; then wakes a worker. From here on it is not lost, and nothing has been sent yet.
 * @returns the refund, `processing`, or `pending` when a policy wants a person's approval; a replayed one as it is now.
 * @throws ServiceError as the public contract says for a creation. A request that made no refund binds no key.
 */
export async function createRefund(deps: RefundDependencies, request: RefundRequest): Promise<CreatedRefund> {
  try {
    for (let decision = 1; decision <= mostDecisions; decision += 1) {
      const created = await decideAndRecord(deps, request);
      if (created === null) continue;
      if (!created.isReplayed && created.refund.status === 'processing') deps.queues.enqueue(created.refund);
      return created;
    }
    throw new ServiceError('service_unavailable', 'The payment changed meanwhile. Repeat the request.', {
      retryAfterSeconds: 1,
    });
  } catch (error) {
    if (!(error instanceof ServiceError) || isFinal.has(error.code)) throw error;
    // What would be refused now may have been accepted the first time.
    const replayed = await findByKey(deps, request);
    if (replayed === null) throw error;
    return replayed;
  }
}

/** Errors that say what the key would say, or that the database cannot say it. */
const isFinal: ReadonlySet<ErrorCode> = new Set(['idempotency_key_reused', 'internal_error']);

/** @returns null when a limit was passed or the payment put on record meanwhile, so that it has to be decided again. */
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
    throw new ServiceError('processor_error', `No processor knows the transaction ${request.transactionId}.`);
  }
  const problem = processorKind(account.processor).amountProblem(request.amount, request.currency);
  if (problem !== null) throw new ServiceError('validation_error', `amount: ${problem}`);
  return account;
}

/** Null while the processor cannot be asked: the refund is accepted all the same, and verified before it is sent. */
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
  // Without the payment's facts a policy that binds cannot be asked, and nothing may pass it unasked.
  if (!policies.some((policy) => bindsInitiator(policy, request.initiatedBy))) return null;
  throw new ServiceError(
    'service_unavailable',
    'The processor cannot be asked about the transaction, and a policy needs its facts. Repeat in a few seconds.',
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
    // Of a program the timeline tells.
    audit_id: request.actor.startsWith('user:') ? newId('aud') : undefined,
    idempotency_key: idempotency?.key,
    fingerprint: idempotency === null ? undefined : asBytea(idempotency.fingerprint),
    limits: verdict?.limits == null ? undefined : limitColumns(verdict.limits),
  };
}

function limitColumns({ maxTaken, maxRefunds, dayCount, dayAmount }: PolicyLimits): object {
  return { max_taken: maxTaken, max_refunds: maxRefunds, day_count: dayCount, day_amount: dayAmount };
}

/** Facts for a payment that is not on record yet. */
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

/** How long a creation tries to find out whether it was recorded before its connection broke. */
const findOutMs = 3_000;

/**
 * Records the refund. A connection that breaks leaves it open whether that was done; asking again with the same id says so.
 * @throws ServiceError internal_error while that stays unknown; what the database throws when nothing was done.
 */
async function record(deps: RefundDependencies, item: object): Promise<Answer> {
  const since = performance.now();
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      return await deps.statements.create(isRepeated ? { ...item, is_repeated: true } : item);
    } catch (error) {
      if (!isRepeated && (!isDatabaseUnavailable(error) || isNothingDone(error))) throw error;
      // What is locked for a repetition may be locked by the first session, which can still commit.
      if (!isDatabaseUnavailable(error) || performance.now() - since > findOutMs) throw notKnown(error);
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
      throw new Error(`A creation has an unknown outcome: ${outcome}`);
  }
}

/** The refund that an earlier request with the same key made; null without a key, and when there is none. */
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

/** 500: the connection broke before the database had said whether it recorded the request. */
export function notKnown(cause: unknown): ServiceError {
  return new ServiceError(
    'internal_error',
    'It is not known whether this was recorded. Repeat with the same Idempotency-Key, or get or list refunds first.',
    { cause },
  );
}

/** 422: the key belongs to another request. */
export function keyReused(): ServiceError {
  return new ServiceError(
    'idempotency_key_reused',
    'This Idempotency-Key was used with another request; use a new key for a new request.',
  );
}

function asBytea(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`;
}
