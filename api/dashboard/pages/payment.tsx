import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { transactionIdSchema } from '#api/operations/refund-schemas.ts';
import { mayAct } from '#shared/access/roles.ts';
import { toDecimal } from '#shared/money/money.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { type PublicPayment, viewPayment } from '#shared/refunds/requests/view-payment.ts';
import { ButtonLink } from '../components/button.tsx';
import { Fields } from '../components/fields.tsx';
import { Form, HiddenFields } from '../components/form.tsx';
import { Empty, Notice } from '../components/notice.tsx';
import { type Context, contextOf, useMember } from '../http/access.ts';
import { page } from '../http/page.ts';
import { pageNotFound } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { inMoney } from '../words/numbers.ts';
import { entryChoices, entrySchema } from './refunds/create-entry.ts';
import { PaymentCard, PaymentRefunds } from './refunds/facts.tsx';
import { metadataText, namedColumns } from './refunds/metadata-columns.tsx';
import { MetadataFields } from './refunds/metadata-fields.tsx';

/** `/payments/:id`: a payment by any of its ids, refunded or not, and the form to refund what is left. */
export function paymentPage(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest, reply: FastifyReply): Promise<PaymentProps> => {
    const context = contextOf(request);
    const { data: transactionId } = transactionIdSchema.safeParse((request.params as { id: string }).id);
    if (transactionId === undefined) throw pageNotFound();
    const processor = await processorOnRecord(deps, context, transactionId);
    try {
      return { payment: await viewPayment(deps, { ...context.owner, transactionId, processor }) };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
      reply.code(error.status);
      const refunds = processor === undefined ? null : `/refunds?q=${encodeURIComponent(transactionId)}`;
      return { error, refunds, again: request.url };
    }
  };
  page(scope, '/payments/:id', 'viewer', read, Payment);
}

type PaymentProps = PaymentPageProps | UnreadProps;

function Payment(props: PaymentProps) {
  return 'payment' in props ? <PaymentPage {...props} /> : <Unread {...props} />;
}

/** The processor of a payment on record, which then needs no processor to say whose it is. */
async function processorOnRecord(
  { db }: ApiDependencies,
  { owner }: Context,
  name: string,
): Promise<string | undefined> {
  const known = await db.paymentName.findMany({
    where: { ...owner, name },
    select: { payment: { select: { account: { select: { processor: true } } } } },
    take: 2,
  });
  return known.length === 1 ? known[0]?.payment.account.processor : undefined;
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
    ...{ hasTransfer: payment.hasTransfer, hasApplicationFee: payment.hasApplicationFee },
    // Not public.
    transferDestination: null,
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
  const { transactionId, currency, processor, refunds } = payment;
  const { refundColumns } = useMember().organization;
  const kept = namedColumns(refundColumns).flatMap(({ keys }) => earlierValue(refunds, keys));
  const remaining = BigInt(payment.remaining);
  const known = { transactionId, currency, processor, step: 'check', formKey: randomUUID() };
  const metadata = JSON.stringify(Object.fromEntries(kept));
  const schema = z.object({
    amount: entrySchema.shape.amount.meta({
      title: `Amount in ${currency.toUpperCase()}`,
      description: `At most ${inMoney(remaining, currency)}.`,
    }),
    reason: entrySchema.shape.reason,
  });
  const initial = { amount: toDecimal(remaining, currency), metadata };
  return (
    <Form to="/refunds/new" submit="Review" title="Refund" initial={initial}>
      <HiddenFields values={known} />
      <Fields schema={schema} choices={entryChoices} />
      <MetadataFields />
    </Form>
  );
}

/** The newest value of metadata that an earlier refund of the payment has under one of the keys, with its key; empty for none. */
function earlierValue(
  refunds: PublicPayment['refunds'],
  keys: readonly string[],
): [key: string, value: unknown][] {
  for (const { metadata } of refunds) {
    const key = keys.find((each) => metadataText(metadata, [each]) !== null);
    if (key !== undefined) return [[key, (metadata as Record<string, unknown>)[key]]];
  }
  return [];
}
