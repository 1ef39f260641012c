import type { ComponentChildren } from 'preact';
import { asKnown, type KnownPayment, remainingOf } from '#shared/payments/payment.ts';
import type { Payment, Refund } from '#shared/platform/database.ts';
import { processorKinds } from '#shared/processors/registry.ts';
import { arrivalOf } from '#shared/refunds/model/arrival.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { StatusBadge } from '../../components/badge.tsx';
import { Card, type Fact, Facts } from '../../components/card.tsx';
import { List } from '../../components/list.tsx';
import { Amount, Copyable, Moment } from '../../components/values.tsx';
import type { Context } from '../../http/access.ts';
import { inDay } from '../../words/numbers.ts';
import { initiatorWords, processorWord, reasonWords } from '../../words/words.ts';

interface RefundFactsProps {
  refund: RefundWithWork;
  who: string | null;
  /** True when the processor may have it although it ended otherwise. */
  isUncertain: boolean;
}

/** The public fields of a refund, and when it arrives. */
export function RefundFacts({ refund, who, isUncertain }: RefundFactsProps) {
  const { id, externalRefundId, amount, currency, reason, initiatedBy } = refund;
  const source = initiatorWords[initiatedBy];
  const arrival = arrivalOf(refund);
  return (
    <Card id="refund" title="Refund">
      <Facts
        facts={[
          ['Amount', <Amount key="amount" amount={amount} currency={currency} />],
          ['Reason', reasonWords[reason]],
          ['ID', <Copyable key="id" text={id} label="the refund ID" />],
          [
            `At ${processorWord(refund.processor)}`,
            externalRefundId === null ? (
              absenceOf(refund, isUncertain)
            ) : (
              <Copyable text={externalRefundId} label="the processor's refund ID" />
            ),
          ],
          ['At the bank', arrival === null ? null : `By ${inDay(arrival.expectedBy)}, usually`],
          [
            'Reference',
            arrival?.reference == null ? null : (
              <Copyable text={arrival.reference} label="the reference of the bank" />
            ),
          ],
          ['Requested by', who === null ? source : `${source}, ${who}`],
          ['Created', <Moment key="created" at={refund.createdAt} />],
          ['Updated', <Moment key="updated" at={refund.updatedAt} />],
        ]}
      />
    </Card>
  );
}

/** What is known of a refund without an ID of its processor. */
function absenceOf({ status, work }: RefundWithWork, isUncertain: boolean): string {
  if (isUncertain || work?.unknownSince != null || work?.attemptStartedAt != null) return 'Not known yet';
  return isTerminal(status) ? 'None' : 'Not sent yet';
}

interface PaymentFactsProps {
  payment: Payment | KnownPayment;
  /** The one of its ids that the request names. */
  transactionId: string;
  children?: ComponentChildren;
}

/** The payment as last read, the refunded amounts and the remaining amount. */
export function PaymentFacts({ payment, transactionId, children }: PaymentFactsProps) {
  const known = asKnown(payment);
  return (
    <Card id="payment" title="Payment">
      <Facts
        facts={[
          ['Transaction', <Copyable key="id" text={transactionId} label="the transaction ID" />],
          ['Processor', <ProcessorPage key="processor" payment={payment} transactionId={transactionId} />],
          ...(known === null ? [] : balanceOf(known)),
        ]}
      />
      {known === null ? (
        <p class="muted">The payment has not been read yet. It is read before the refund is sent.</p>
      ) : null}
      {children}
    </Card>
  );
}

function ProcessorPage({ payment, transactionId }: PaymentFactsProps) {
  const { processor, environment } = payment;
  const page = processorKinds[processor]?.paymentPage?.(transactionId, environment);
  if (page === undefined) return <>{processorWord(processor)}</>;
  return (
    <a href={page} rel="noreferrer" target="_blank">
      Open in {processorWord(processor)}
    </a>
  );
}

function balanceOf(payment: KnownPayment): Fact[] {
  const { amount, currency, reserved, refundedOutside, chargedAt, fetchedAt } = payment;
  return [
    ['Paid', <Moment key="paid" at={chargedAt} />],
    ['Amount', <Amount key="amount" amount={amount} currency={currency} />],
    [
      'Refunded here',
      <>
        <Amount amount={reserved} currency={currency} />{' '}
        <span class="small muted">including in progress</span>
      </>,
    ],
    ['Refunded elsewhere', <Amount key="elsewhere" amount={refundedOutside} currency={currency} />],
    [
      'Still refundable',
      <>
        <Amount amount={remainingOf(payment) ?? 0n} currency={currency} />{' '}
        <span class="small muted">
          {fetchedAt === null ? (
            'read again before the next refund'
          ) : (
            <>
              as of <Moment at={fetchedAt} />
            </>
          )}
        </span>
      </>,
    ],
  ];
}

/** Other refunds of a payment. */
export function OtherRefunds({ context, refunds }: { context: Context; refunds: readonly Refund[] }) {
  if (refunds.length === 0) return null;
  return (
    <List
      isInCard
      caption="Other refunds of the payment, newest first"
      items={refunds}
      columns={[
        [
          'Other refunds',
          ({ id, amount, currency }) => (
            <a class="row-link" href={`${context.base}/refunds/${id}`}>
              <Amount amount={amount} currency={currency} />
            </a>
          ),
        ],
        ['Status', ({ status }) => <StatusBadge status={status} />],
        ['Created', ({ createdAt }) => <Moment at={createdAt} />],
      ]}
    />
  );
}

/** The refund's metadata by key. */
export function Metadata({ metadata }: { metadata: unknown }) {
  const entries = Object.entries((metadata ?? {}) as Record<string, unknown>);
  if (entries.length === 0) return null;
  return (
    <Card id="metadata" title="Metadata">
      <Facts
        facts={entries.map(([key, value]) => [
          key,
          <span key={key} class="said">
            {typeof value === 'string' ? value : JSON.stringify(value)}
          </span>,
        ])}
      />
    </Card>
  );
}
