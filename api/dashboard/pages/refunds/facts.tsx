import type { ComponentChildren } from 'preact';
import { asKnown, type KnownPayment, remainingOf } from '#shared/payments/payment.ts';
import type { Payment } from '#shared/platform/database.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { StatusBadge } from '../../components/badge.tsx';
import { Card, type Fact, Facts } from '../../components/card.tsx';
import { Amount, Copyable, Moment } from '../../components/values.tsx';
import { initiatorWords, processorWord, reasonWords } from '../../words/words.ts';

/** The public fields of a refund. */
export function RefundFacts({ refund, who }: { refund: RefundWithWork; who: string | null }) {
  const { id, externalRefundId, amount, currency, reason, status, initiatedBy } = refund;
  const source = initiatorWords[initiatedBy];
  const atProcessor =
    externalRefundId === null ? (
      isTerminal(status) ? (
        'None'
      ) : (
        'Not yet'
      )
    ) : (
      <Copyable text={externalRefundId} label="the processor's refund ID" />
    );
  return (
    <Card id="refund" title="Refund">
      <Facts
        facts={[
          [
            'Status',
            <span key="status" aria-live="polite">
              <StatusBadge status={status} />
            </span>,
          ],
          ['Amount', <Amount key="amount" amount={amount} currency={currency} />],
          ['Reason', reasonWords[reason]],
          ['ID', <Copyable key="id" text={id} label="the refund ID" />],
          ['At the processor', atProcessor],
          ['Requested by', who === null ? source : `${source}, ${who}`],
          ['Created', <Moment key="created" at={refund.createdAt} />],
          ['Updated', <Moment key="updated" at={refund.updatedAt} />],
        ]}
      />
    </Card>
  );
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
          ['Processor', processorWord(payment.processor)],
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

function balanceOf(payment: KnownPayment): Fact[] {
  const { amount, currency, reserved, refundedOutside, chargedAt } = payment;
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
    ['Still refundable', <Amount key="left" amount={remainingOf(payment) ?? 0n} currency={currency} />],
  ];
}

/** The refund's metadata as JSON. */
export function Metadata({ metadata }: { metadata: unknown }) {
  if (metadata === null) return null;
  return (
    <Card id="metadata" title="Metadata">
      <pre>
        <code>{JSON.stringify(metadata, null, 2)}</code>
      </pre>
    </Card>
  );
}
