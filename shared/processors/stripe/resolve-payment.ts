import { z } from 'zod';
import type { Deadline } from '../contract/calls.ts';
import { processorFailure, readAnswer } from '../contract/outcome.ts';
import type { Ambiguous, ReadResult } from '../contract/processor.ts';
import { isNameOfPayment, isPaymentId, type StripeAccess } from './client.ts';
import { paymentReference } from './replies.ts';

/** The payment that an id stands for. */
export interface ResolvedPayment {
  /** Its charge or payment intent. */
  id: string;
  /** The ids that led there: the one that was asked for and those in between; none for a charge or a payment intent. */
  names: readonly string[];
}

type Resolution = { kind: 'resolved'; payment: ResolvedPayment } | Ambiguous | NotFound;
type NotFound = Extract<ReadResult<never>, { kind: 'not-found' }>;

/** Of an invoice that was paid in more parts, these are enough to tell. */
const mostParts = 10;

/**
 * Follows the id of a checkout session or an invoice to its payment. Since API version 2025-03-31 an invoice may be paid in parts, each of
 * them a payment; a session of a subscription has an invoice in place of a payment.
 * @throws what the SDK throws, and UnexpectedAnswerError.
 */
export async function resolvePayment(
  access: StripeAccess,
  deadline: Deadline,
  transactionId: string,
): Promise<Resolution> {
  if (isPaymentId(transactionId)) return resolved(transactionId, []);
  if (!isNameOfPayment(transactionId)) {
    return notFound('invalid_id', `${transactionId} is not the id of a Stripe payment.`);
  }
  const names = [transactionId];
  return transactionId.startsWith('cs_')
    ? await paymentOfSession(access, deadline, transactionId, names)
    : await paymentOfInvoice(access, deadline, transactionId, names);
}

async function paymentOfSession(
  access: StripeAccess,
  deadline: Deadline,
  id: string,
  names: string[],
): Promise<Resolution> {
  const reply = await access.stripe.checkout.sessions.retrieve(id, {}, access.within(deadline));
  const session = readAnswer(sessionReply, reply);
  const [intent, invoice] = [idOf(session.payment_intent), idOf(session.invoice)];
  if (intent !== undefined) return resolved(intent, names);
  if (invoice !== undefined) return await paymentOfInvoice(access, deadline, invoice, [...names, invoice]);
  return notFound('no_charge', `The checkout session ${id} has no payment.`);
}

async function paymentOfInvoice(
  { stripe, within }: StripeAccess,
  deadline: Deadline,
  invoice: string,
  names: string[],
): Promise<Resolution> {
  const reply = await stripe.invoicePayments.list(
    { invoice, status: 'paid', limit: mostParts },
    within(deadline),
  );
  const { data } = readAnswer(invoicePaymentsReply, reply);
  // A payment record stands for money that did not go through Stripe.
  const ids = data.flatMap(({ payment }) => idOf(payment.payment_intent) ?? idOf(payment.charge) ?? []);
  const [first, ...others] = [...new Set(ids)];
  if (first === undefined) {
    return notFound('no_charge', `The invoice ${invoice} has no payment through Stripe.`);
  }
  return others.length === 0 ? resolved(first, names) : ambiguous(invoice, [first, ...others]);
}

function idOf(reference: z.infer<typeof paymentReference>): string | undefined {
  return typeof reference === 'object' ? reference?.id : reference;
}

function resolved(id: string, names: readonly string[]): Resolution {
  return { kind: 'resolved', payment: { id, names } };
}

function notFound(code: string, message: string): NotFound {
  return { kind: 'not-found', failure: processorFailure(code, message) };
}

function ambiguous(invoice: string, transactionIds: readonly string[]): Ambiguous {
  const message = `The invoice ${invoice} was paid by several payments. Name one of them: ${transactionIds.join(', ')}.`;
  return { kind: 'ambiguous', failure: processorFailure('several_payments', message), transactionIds };
}

const sessionReply = z.object({
  object: z.literal('checkout.session'),
  payment_intent: paymentReference,
  invoice: paymentReference,
});

const invoicePaymentsReply = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      object: z.literal('invoice_payment'),
      payment: z.object({ payment_intent: paymentReference, charge: paymentReference }),
    }),
  ),
});
