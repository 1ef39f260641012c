import { chooseAccount } from '../accounts/choose-account.ts';
import { auditPerson } from '../audit-log.ts';
import { commitKnowingly } from '../commit-knowingly.ts';
import { type DatabaseTransaction, Prisma, type Refund } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Environment } from '../environment.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import { bindsInitiator, decidePolicy, loadPolicies } from '../policies/decide.ts';
import type { PolicyVerdict } from '../policies/policy.ts';
import { processorKind } from '../processors/registry.ts';
import { asKnown, type KnownTransaction, readTransaction } from '../transactions/read-transaction.ts';
import { ensureTransaction } from '../transactions/record-transaction.ts';
import { remainingOf, reserve, type TransactionKey, whereTransaction } from '../transactions/reservation.ts';
import type { InitiatedBy, RefundReason } from './reasons.ts';
import { currencyMismatch, nothingLeft, refusedCredentials, tooLittleLeft } from './refusals.ts';
import { initialStatus } from './states.ts';
import { appendEvent } from './transition.ts';

/** A refund that somebody asks for; every field has been validated. */
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
}

/** Something that has to happen in the database transaction that creates the refund, or not at all. */
export type WithinCreation = (tx: DatabaseTransaction, refundId: string) => Promise<void>;

/**
 * Accepts a refund: checks it against the payment and the policies, reserves its amount and puts it on record, in one
 * database transaction; then wakes a worker. From here on it is not lost, and nothing has been sent yet.
 * @returns the refund, `processing`, or `pending` when a policy wants a person's approval.
 * @throws ServiceError as the public contract says for a creation.
 */
export async function requestRefund(
  deps: Dependencies,
  request: RefundRequest,
  withinCreation: WithinCreation,
): Promise<Refund> {
  const processor = await chooseProcessor(deps, request);
  const transaction = await readPayment(deps, request, processor);
  if (transaction !== null) checkAgainstPayment(request, transaction);
  const verdict = await askPolicies(deps, request, transaction);
  if (transaction === null) await ensureTransaction(deps.db, { ...request, processor });
  const refund = await putOnRecord(deps, request, processor, verdict, withinCreation);
  if (refund.status === 'processing') deps.queues.wake(refund);
  return refund;
}

async function chooseProcessor(deps: Dependencies, request: RefundRequest): Promise<string> {
  const account = await chooseAccount(deps, request);
  if (account === null) {
    throw new ServiceError('processor_error', `No processor knows the transaction ${request.transactionId}.`);
  }
  const problem = processorKind(account.processor).amountProblem(request.amount, request.currency);
  if (problem !== null) throw new ServiceError('validation_error', `amount: ${problem}`);
  return account.processor;
}

/** Null while the processor cannot be asked: the refund is accepted all the same, and verified before it is sent. */
async function readPayment(
  deps: Dependencies,
  { organizationId, environment, transactionId }: RefundRequest,
  processor: string,
): Promise<KnownTransaction | null> {
  const reading = await readTransaction(deps, { organizationId, environment, processor, transactionId });
  switch (reading.kind) {
    case 'known':
      return reading.transaction;
    case 'unreachable':
      return null;
    case 'not-found':
    case 'unrefundable':
      throw new ServiceError('processor_error', reading.failure.message);
    case 'misconfigured':
      throw refusedCredentials(processor, reading.failure);
  }
}

function checkAgainstPayment(request: RefundRequest, transaction: KnownTransaction): void {
  const problem = problemWith(request, transaction.currency, remainingOf(transaction) ?? 0n);
  if (problem !== null) throw problem;
}

/** Why a payment does not allow the refund; null when it does. */
function problemWith(request: RefundRequest, currency: string, remaining: bigint): ServiceError | null {
  if (request.currency !== currency) return currencyMismatch(currency);
  if (remaining <= 0n) return nothingLeft();
  return request.amount > remaining ? tooLittleLeft(remaining, currency) : null;
}

async function askPolicies(
  deps: Dependencies,
  request: RefundRequest,
  transaction: KnownTransaction | null,
): Promise<PolicyVerdict | null> {
  if (transaction !== null) {
    const verdict = await decidePolicy(deps.db, deps.clock, transaction, request);
    if (verdict.enforced && !verdict.eligible) throw new ServiceError('policy_denied', verdict.reason);
    return verdict;
  }
  // Without the payment's facts a policy that binds cannot be asked, and nobody may pass it unasked.
  const policies = await loadPolicies(deps.db, request.organizationId);
  if (!policies.some((policy) => bindsInitiator(policy, request.initiatedBy))) return null;
  throw new ServiceError(
    'service_unavailable',
    'The processor cannot be asked about the transaction, and a policy needs its facts. Repeat in a few seconds.',
    { retryAfterSeconds: 5 },
  );
}

/** Reserves, inserts and tells the timeline, or does nothing at all. */
async function putOnRecord(
  deps: Dependencies,
  request: RefundRequest,
  processor: string,
  verdict: PolicyVerdict | null,
  withinCreation: WithinCreation,
): Promise<Refund> {
  return await commitKnowingly(deps.db, async (tx) => {
    const key = { ...request, processor };
    if (!(await reserve(tx, key, request))) throw await refusal(tx, key);
    if (verdict?.enforced) await enforceAgain(tx, deps, request, key);
    const refund = await insertRefund(tx, deps, request, processor, verdict);
    await withinCreation(tx, refund.id);
    await auditCreation(tx, request, refund);
    return refund;
  });
}

/**
 * Asks a policy that binds once more, with one creation of the organization after the other: refunds that are created
 * at the same time must not pass a limit together that each of them alone would keep.
 */
async function enforceAgain(
  tx: DatabaseTransaction,
  deps: Dependencies,
  request: RefundRequest,
  key: TransactionKey,
): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 FROM pg_advisory_xact_lock(hashtextextended(${`policies/${request.organizationId}/${request.environment}`}, 0))`;
  const transaction = asKnown(await tx.transaction.findUnique({ where: whereTransaction(key) }));
  if (transaction === null) return;
  const verdict = await decidePolicy(tx, deps.clock, transaction, request);
  if (verdict.enforced && !verdict.eligible) throw new ServiceError('policy_denied', verdict.reason);
}

async function insertRefund(
  tx: DatabaseTransaction,
  deps: Dependencies,
  request: RefundRequest,
  processor: string,
  verdict: PolicyVerdict | null,
): Promise<Refund> {
  const now = deps.clock.now();
  const approvalRequired = verdict?.approvalRequired ?? false;
  const status = initialStatus(approvalRequired);
  const { actor, metadata, ...columns } = request;
  const refund = await tx.refund.create({
    data: {
      ...columns,
      id: newId('ref'),
      processor,
      metadata: metadata === null ? Prisma.DbNull : (metadata as Prisma.InputJsonObject),
      status,
      createdAt: now,
      updatedAt: now,
      nextActionAt: status === 'processing' ? now : null,
      wokenAt: status === 'processing' ? now : null,
    },
  });
  const type = approvalRequired ? 'refund.approval_required' : 'refund.created';
  const detail = approvalRequired ? { policy: verdict?.policyName ?? null } : {};
  await appendEvent(tx, refund, null, { type, actor, detail }, now);
  return refund;
}

async function auditCreation(
  tx: DatabaseTransaction,
  { actor }: RefundRequest,
  { id, organizationId, environment, transactionId, amount, currency, createdAt }: Refund,
): Promise<void> {
  const detail = { environment, transactionId, amount: Number(amount), currency };
  await auditPerson(tx, { organizationId, actor, action: 'refund.created', target: id, detail }, createdAt);
}

/** Says what stands against a reservation that was just refused, under the lock that refused it. */
async function refusal(
  tx: DatabaseTransaction,
  key: RefundRequest & { processor: string },
): Promise<ServiceError> {
  const transaction = await tx.transaction.findUniqueOrThrow({ where: whereTransaction(key) });
  return (
    problemWith(key, transaction.currency ?? key.currency, remainingOf(transaction) ?? 0n) ?? nothingLeft()
  );
}
