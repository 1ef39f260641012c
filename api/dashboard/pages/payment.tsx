import { randomUUID } from 'node:crypto';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { transactionIdSchema } from '#api/operations/refund-schemas.ts';
import { mayAct } from '#shared/access/roles.ts';
import { toDecimal } from '#shared/money/money.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { type PublicPayment, viewPayment } from '#shared/refunds/requests/view-payment.ts';
import { ButtonLink } from '../components/button.tsx';
import { Form, HiddenFields } from '../components/form.tsx';
import { Empty, Notice } from '../components/notice.tsx';
import { type Context, contextOf, needs, useMember } from '../http/access.ts';
import { pageNotFound } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { inMoney } from '../words/numbers.ts';
import { AmountField, RefundReasonField } from './refunds/create-form.tsx';
import { PaymentCard, PaymentRefunds } from './refunds/facts.tsx';

/** `/payments/:id`: a payment by any of its ids, refunded or not, and the form to refund what is left. */
export function paymentPage(scope: Api, deps: ApiDependencies): void {
  scope.get('/payments/:id', needs('viewer'), async (request, reply) => {
    const context = contextOf(request);
    const { data: transactionId } = transactionIdSchema.safeParse((request.params as { id: string }).id);
    if (transactionId === undefined) throw pageNotFound();
    const processor = await processorOnRecord(deps, context, transactionId);
    try {
      const payment = await viewPayment(deps, { ...context.owner, transactionId, processor });
      return <PaymentPage payment={payment} />;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
      reply.code(error.status);
      const list = `/refunds?q=${encodeURIComponent(transactionId)}`;
      const refunds = processor === undefined ? null : list;
      return <Unread error={error} refunds={refunds} again={request.url} />;
    }
  });
}

/** The processor of a payment on record, which then needs no processor to say whose it is. */
async function processorOnRecord(
  { db }: ApiDependencies,
  { owner }: Context,
  name: string,
): Promise<string | undefined> {
  const known = await db.paymentName.findMany({
    where: { ...owner, name },
    select: { processor: true },
    take: 2,
  });
  return known.length === 1 ? known[0]?.processor : undefined;
}

interface UnreadProps {
  error: ServiceError;
  /** The list of the refunds that are on record of it; null without any. */
  refunds: string | null;
  /** The address of the page. */
  again: string;
}

/** The payment's amount is not on record, and its processor did not show it. */
function Unread({ error, refunds, again }: UnreadProps) {
  const { environment } = useMember();
  const isMissing = error.code === 'not_found';
  const title = refunds === null ? 'No record of this payment' : 'Amount not known yet';
  const message =
    refunds === null
      ? error.message
      : 'The processor did not return this payment. Its refunds are on record.';
  return (
    <Frame title={isMissing ? 'Payment not found' : 'Payment unavailable'} section="refunds">
      <Empty title={isMissing ? `No ${environment} account has this payment` : title}>
        <p>{isMissing ? 'Check the ID and whether you are in test or live.' : message}</p>
        {refunds === null ? null : <ButtonLink to={refunds}>View refunds</ButtonLink>}
        <ButtonLink to={again}>Try again</ButtonLink>
      </Empty>
    </Frame>
  );
}

interface PaymentPageProps {
  payment: PublicPayment;
}

function PaymentPage({ payment }: PaymentPageProps) {
  const { environment, role } = useMember();
  const { transactionId, amount, currency, unrefundable, remaining, refunds, hasMore } = payment;
  const facts = {
    ...{ processor: payment.processor, environment, currency },
    amount: BigInt(amount),
    chargedAt: new Date(payment.chargedAt),
    reserved: BigInt(payment.reserved),
    refundedOutside: BigInt(payment.refundedOutside),
    fetchedAt: payment.fetchedAt === null ? null : new Date(payment.fetchedAt),
  };
  return (
    <Frame title={`Payment of ${inMoney(facts.amount, currency)}`} section="refunds">
      {unrefundable === null ? null : (
        <Notice tone="bad">
          <strong>It cannot be refunded.</strong> {unrefundable.message}
        </Notice>
      )}
      <div class="columns">
        <PaymentCard payment={facts} transactionId={transactionId} />
        {remaining > 0 && mayAct(role, 'operator') ? <RefundForm payment={payment} /> : null}
      </div>
      <PaymentRefunds refunds={refunds} />
      {hasMore ? <ButtonLink to={`/refunds?q=${transactionId}`}>All refunds</ButtonLink> : null}
    </Frame>
  );
}

/** Leads to the review of a refund, of all that is left unless another amount is entered. */
function RefundForm({ payment }: PaymentPageProps) {
  const { transactionId, currency, processor } = payment;
  const remaining = BigInt(payment.remaining);
  const known = { transactionId, currency, processor, step: 'check', formKey: randomUUID() };
  const form = { body: { amount: toDecimal(remaining, currency) }, problems: {} };
  return (
    <Form to="/refunds/new" submit="Review" title="Refund" form={form}>
      <HiddenFields values={known} />
      <div class="fields">
        <AmountField
          form={form}
          label={`Amount in ${currency.toUpperCase()}`}
          hint={`At most ${inMoney(remaining, currency)}.`}
        />
        <RefundReasonField form={form} />
      </div>
    </Form>
  );
}
