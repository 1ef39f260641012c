import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { formatAmount, toDecimal } from '#shared/money/money.ts';
import { type KnownPayment, remainingOf } from '#shared/payments/payment.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { fingerprintOf } from '#shared/platform/secrets/request-digest.ts';
import { isClientSecret } from '#shared/processors/contract/credentials.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { decideRefund } from '#shared/refunds/lifecycle/decide.ts';
import { isRefundId, type RefundOwner } from '#shared/refunds/model/refund.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { confirmed, contextOf } from '../../http/access.ts';
import { entered, type FormProblems, problemsOf, readForm } from '../../http/forms.ts';
import { leadTo, page, type Redirect } from '../../http/page.ts';
import { pageNotFound } from '../../http/paths.ts';
import { accountsToChoose } from './account-choices.ts';
import { entryOf, entrySchema, problemAt, type RefundEntry } from './create-entry.ts';
import { CreateForm, CreateReview } from './create-form.tsx';

/** `/refunds/new`: enter a refund, review it with its payment and policies, and create it. */
export function createRefundPages(scope: Api, deps: ApiDependencies): void {
  const path = '/refunds/new';
  const operator = confirmed('operator', { isRoutine: (request) => isWithinThreshold(deps, request) });
  const read = async (request: FastifyRequest) => {
    const { owner, query } = contextOf(request);
    const again = entered(query, 'again');
    hideSecret(request);
    // Other pages link here with known fields, or with a refund to repeat.
    const known = again === '' ? Object(query) : await entryLike(deps, owner, again);
    return { known, ...(await accountsToChoose(deps, owner)) };
  };
  page(scope, path, operator, read, CreateForm).form(
    path,
    operator,
    entrySchema,
    async (request, entries) => {
      const { body } = request;
      if (entries.step === 'change') {
        request.submitted = { body, problems: {} };
        return {};
      }
      const next = entries.step === 'confirm' ? create : review;
      try {
        return await next(deps, request, entryOf(entries));
      } catch (error) {
        if (isFinal(error)) request.body = { ...Object(body), formKey: '' };
        throw error;
      }
    },
    { problemsIn: problemsOfRefusal },
  );
}

/** A client secret is not sent back to the browser. */
function hideSecret(request: FastifyRequest): void {
  const { submitted } = request;
  if (!submitted || !isClientSecret(entered(submitted.body, 'transactionId'))) return;
  request.submitted = { ...submitted, body: { ...Object(submitted.body), transactionId: '' } };
}

/** The entry that repeats a refund: of the rest of its payment once it holds a part of that, or is of more. */
async function entryLike(
  { db }: Pick<ApiDependencies, 'db'>,
  owner: RefundOwner,
  id: string,
): Promise<Record<string, string>> {
  if (!isRefundId(id)) throw pageNotFound();
  const refund = await findOwnRefund(db, owner, id);
  const payment = await db.payment.findUniqueOrThrow({ where: { id: refund.paymentId } });
  const { transactionId, currency, reason, processor, amount, metadata, isLive, accountId: account } = refund;
  const left = remainingOf(payment) ?? amount;
  const offered = isLive || amount > left ? left : amount;
  return {
    ...{ transactionId, currency, reason, processor, account },
    amount: offered > 0n ? toDecimal(offered, currency) : '',
    metadata: metadata === null ? '' : JSON.stringify(metadata),
  };
}

/** Whether a request moves no money, or a refund that a policy with a threshold for approval lets pass without one. */
async function isWithinThreshold(deps: ApiDependencies, request: FastifyRequest): Promise<boolean> {
  const reading = readForm(entrySchema, request.body);
  if (request.method === 'GET' || reading.kind === 'invalid' || reading.value.step !== 'confirm') return true;
  try {
    const { verdict } = await decide(deps, request, entryOf(reading.value));
    const { policies } = await deps.lookups.setUp(contextOf(request).owner);
    const policy = policies.find(({ name }) => name === verdict?.policyName);
    return policy?.approvalAbove?.dashboard != null && verdict?.approvalRequired === false;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

async function decide(deps: ApiDependencies, request: FastifyRequest, entry: RefundEntry) {
  const { owner, actor } = contextOf(request);
  const asker = { apiKey: null, actor, initiatedBy: 'dashboard' as const, idempotency: null };
  return await decideRefund(deps, { ...owner, ...entry, ...asker }, 'check');
}

async function review(deps: ApiDependencies, request: FastifyRequest, entry: RefundEntry) {
  const decided = await decide(deps, request, entry).catch(atThePayment);
  const { payment, verdict } = decided;
  const { processor } = decided.account;
  if (payment !== null) refuseUnfit(entry, payment, processor);
  return <CreateReview {...{ body: request.body, entry, payment, processor, verdict }} />;
}

/** A payment that cannot be refunded is a problem of its field. @throws the error. */
function atThePayment(error: unknown): never {
  if (error instanceof ServiceError && error.code === 'processor_error')
    throw problemAt('transactionId', error.message);
  throw error;
}

/** @throws ServiceError validation_error when the payment does not allow the refund. */
function refuseUnfit(entry: RefundEntry, payment: KnownPayment, processor: string): void {
  const { currency } = payment;
  if (entry.currency !== currency) {
    throw problemAt('currency', `The payment is in ${currency.toUpperCase()}. Choose that currency.`);
  }
  const left = remainingOf(payment) ?? 0n;
  if (left <= 0n) {
    const message = 'The payment has already been refunded in full, or its refunds are in progress.';
    throw new ServiceError('validation_error', message);
  }
  if (entry.amount > left)
    throw problemAt('amount', `At most ${formatAmount(left, currency)} can still be refunded.`);
  const problem = processorKind(processor).amountProblem(entry.amount, currency);
  if (problem !== null) throw problemAt('amount', problem);
}

async function create(
  deps: ApiDependencies,
  request: FastifyRequest,
  { formKey, ...entry }: RefundEntry,
): Promise<Redirect> {
  const { owner, actor } = contextOf(request);
  const fingerprint = fingerprintOf('dashboard refund', { ...entry, amount: entry.amount.toString() });
  const { refund, isReplayed } = await createRefund(deps, {
    ...owner,
    ...entry,
    actor,
    apiKey: null,
    initiatedBy: 'dashboard',
    // Includes the user, so that another user's form with the same key is a different refund.
    idempotency: { key: `dashboard/${actor}/${formKey}`, fingerprint },
  });
  request.created = { id: refund.id, isNew: !isReplayed };
  return leadTo(`/refunds/${refund.id}`, 'created');
}

/**
 * A refusal of the service as problems of the form.
 * @throws the error again when neither another entry nor another attempt can succeed.
 */
function problemsOfRefusal(error: unknown, fields: readonly string[]): FormProblems {
  if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
  if (error.code === 'idempotency_key_reused') {
    return {
      form: 'This form was already submitted with different values. Check the list of refunds first.',
    };
  }
  // A processor that refuses or is unavailable is no fault of this service.
  return error.status >= 500 ? { form: error.message } : problemsOf(error, fields);
}

const finalCodes = new Set<ServiceError['code']>([
  'policy_denied',
  'refund_already_processed',
  'processor_error',
  'idempotency_key_reused',
]);

/** True when the same form gets the same refusal again, so that a corrected one needs a new key. */
function isFinal(error: unknown): boolean {
  return error instanceof ServiceError && finalCodes.has(error.code);
}
