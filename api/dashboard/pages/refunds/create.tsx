import { randomUUID } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { formatAmount, toDecimal } from '#shared/money/money.ts';
import { remainingOf } from '#shared/payments/payment.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { fingerprintOf } from '#shared/platform/json.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { examinePayment, type PaymentExamination } from '#shared/refunds/lifecycle/decide.ts';
import { isRefundId, type RefundOwner } from '#shared/refunds/model/refund.ts';
import { holdsReservation } from '#shared/refunds/model/states.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { contextOf } from '../../http/access.ts';
import { capitalized, entered as enteredText, type FormProblems, problemsOf } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import {
  type EnteredRefund,
  enteredRefund,
  entryFields,
  type RefundEntry,
  readEntry,
} from './create-entry.ts';
import { CreateForm, type CreateFormProps, CreateReview } from './create-form.tsx';

const operator = { config: { role: 'operator' as const } };

/** `/refunds/new`: enter a refund, review it with its payment and policies, and create it. */
export function createRefundPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/refunds/new', operator, async (request) => {
    const { owner } = contextOf(request);
    const again = enteredText(request.query, 'again');
    // Other pages link here with known fields, or with a refund to repeat.
    const entered = again === '' ? enteredRefund(request.query) : await entryLike(deps, owner, again);
    return <CreateForm entered={entered} formKey={randomUUID()} problems={{}} />;
  });

  scope.post('/refunds/new', operator, async (request, reply) => {
    const form = { entered: enteredRefund(request.body), formKey: readFormKey(request.body) };
    const step = enteredText(request.body, 'step');
    if (step === 'change') return <CreateForm {...form} problems={{}} />;
    const reading = readEntry(form.entered);
    if (reading.kind === 'invalid') return refuse(reply, form, reading.problems);
    const next = step === 'confirm' ? create : review;
    return await next(deps, reply, form, reading.value);
  });
}

/** The form again, with what has to be corrected. */
function refuse(reply: FastifyReply, form: CreateFormProps, problems: FormProblems): VNode {
  reply.code(400);
  return <CreateForm {...form} problems={problems} />;
}

/** The entry that repeats a refund: of the rest of its payment once it holds a part of that, or is of more. */
async function entryLike(
  { db }: Pick<ApiDependencies, 'db'>,
  owner: RefundOwner,
  id: string,
): Promise<EnteredRefund> {
  if (!isRefundId(id)) throw pageNotFound();
  const refund = await findOwnRefund(db, owner, id);
  const payment = await db.payment.findUniqueOrThrow({ where: { id: refund.paymentId } });
  const { transactionId, currency, reason, processor, amount, metadata, status } = refund;
  const left = remainingOf(payment) ?? amount;
  const offered = holdsReservation(status) || amount > left ? left : amount;
  return {
    ...{ transactionId, currency, reason, processor },
    amount: offered > 0n ? toDecimal(offered, currency) : '',
    metadata: metadata === null ? '' : JSON.stringify(metadata, null, 2),
  };
}

function readFormKey(body: unknown): string {
  const key = enteredText(body, 'formKey');
  return /^[0-9a-f-]{36}$/.test(key) ? key : randomUUID();
}

async function review(
  deps: ApiDependencies,
  reply: FastifyReply,
  form: CreateFormProps,
  entry: RefundEntry,
): Promise<VNode> {
  const { transactionId, processor, amount, reason, metadata } = entry;
  const request = { amount, reason, metadata, initiatedBy: 'dashboard' as const };
  const { owner, actor } = contextOf(reply.request);
  try {
    const question = { ...owner, apiKey: null, actor, transactionId, processor, request };
    const { payment, verdict, unrefundable } = await examinePayment(deps, question);
    const problems = paymentProblems(entry, { payment, unrefundable });
    if (problems !== null || payment === null) return refuse(reply, form, problems ?? {});
    return <CreateReview {...form} entry={entry} payment={payment} verdict={verdict} />;
  } catch (error) {
    return refuse(reply, form, problemsOfRefusal(error));
  }
}

/** Why the payment does not allow the refund; null when it does. */
function paymentProblems(
  entry: RefundEntry,
  { payment, unrefundable }: Pick<PaymentExamination, 'payment' | 'unrefundable'>,
): FormProblems | null {
  if (unrefundable !== null) return { transactionId: unrefundable.message };
  if (payment === null) {
    return {
      transactionId:
        'No processor account has this payment. Check the ID and whether you are in test or live.',
    };
  }
  const { currency, processor } = payment;
  if (entry.currency !== currency) {
    return { currency: `The payment is in ${currency.toUpperCase()}. Choose that currency.` };
  }
  const left = remainingOf(payment) ?? 0n;
  if (left <= 0n)
    return { form: 'The payment has already been refunded in full, or its refunds are in progress.' };
  if (entry.amount > left)
    return { amount: `At most ${formatAmount(left, currency)} can still be refunded.` };
  const problem = processorKind(processor).amountProblem(entry.amount, currency);
  return problem === null ? null : { amount: capitalized(problem) };
}

async function create(
  deps: ApiDependencies,
  reply: FastifyReply,
  form: CreateFormProps,
  entry: RefundEntry,
): Promise<FastifyReply | VNode> {
  const { owner, actor, base } = contextOf(reply.request);
  const fingerprint = fingerprintOf('dashboard refund', { ...entry, amount: entry.amount.toString() });
  try {
    const { refund, isReplayed } = await createRefund(deps, {
      ...owner,
      ...entry,
      actor,
      apiKey: null,
      initiatedBy: 'dashboard',
      // Includes the user, so that another user's form with the same key is a different refund.
      idempotency: { key: `dashboard/${actor}/${form.formKey}`, fingerprint },
    });
    reply.request.created = { id: refund.id, isNew: !isReplayed };
    return reply.redirect(`${base}/refunds/${refund.id}?done=created`, 303);
  } catch (error) {
    const problems = problemsOfRefusal(error);
    const formKey = isFinal(error) ? randomUUID() : form.formKey;
    return refuse(reply, { ...form, formKey }, problems);
  }
}

/**
 * A refusal of the service as problems of the form.
 * @throws the error again when neither another entry nor another attempt can succeed.
 */
function problemsOfRefusal(error: unknown): FormProblems {
  if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
  if (error.code === 'idempotency_key_reused') {
    return {
      form: 'This form was already submitted with different values. Check the list of refunds first.',
    };
  }
  // A processor that refuses or is unavailable is no fault of this service.
  return error.status >= 500 ? { form: error.message } : problemsOf(error, entryFields);
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
