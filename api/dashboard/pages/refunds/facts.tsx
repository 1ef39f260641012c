import type { ComponentChildren } from 'preact';
import { asKnown, type KnownPayment, remainingOf } from '../../../../shared/payments/payment.ts';
import type { Payment } from '../../../../shared/platform/database.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../../shared/refunds/model/states.ts';
import { StatusBadge } from '../../layout/badge.tsx';
import { Amount, Copyable, Moment } from '../../layout/values.tsx';
import { initiatorWords, processorWord, reasonWords } from '../../layout/words.ts';

/** The public fields of a refund. */
export function RefundFacts({ refund, who }: { refund: RefundWithWork; who: string | null }) {
  const { id, externalRefundId, amount, currency, reason, status, initiatedBy, createdAt, updatedAt } =
    refund;
  return (
    <section class="card stack" aria-labelledby="refund">
      <h2 id="refund">Refund</h2>
      <dl class="facts">
        <dt>Status</dt>
        <dd aria-live="polite">
          <StatusBadge status={status} />
        </dd>
        <dt>Amount</dt>
        <dd>
          <Amount amount={amount} currency={currency} />
        </dd>
        <dt>Reason</dt>
        <dd>{reasonWords[reason]}</dd>
        <dt>ID</dt>
        <dd>
          <Copyable text={id} label="the refund ID" />
        </dd>
        <dt>At the processor</dt>
        <dd>
          {externalRefundId === null ? (
            isTerminal(status) ? (
              'None'
            ) : (
              'Not yet'
            )
          ) : (
            <Copyable text={externalRefundId} label="the processor's refund ID" />
          )}
        </dd>
        <dt>Requested by</dt>
        <dd>{who === null ? initiatorWords[initiatedBy] : `${initiatorWords[initiatedBy]}, ${who}`}</dd>
        <dt>Created</dt>
        <dd>
          <Moment at={createdAt} />
        </dd>
        <dt>Updated</dt>
        <dd>
          <Moment at={updatedAt} />
        </dd>
      </dl>
    </section>
  );
}

interface PaymentFactsProps {
  payment: Payment;
  children?: ComponentChildren;
}

/** The payment as last read, the refunded amounts and the remaining amount. */
export function PaymentFacts({ payment, children }: PaymentFactsProps) {
  const { transactionId, processor, chargedAt } = payment;
  const known = asKnown(payment);
  return (
    <section class="card stack" aria-labelledby="payment">
      <h2 id="payment">Payment</h2>
      <dl class="facts">
        <dt>Transaction</dt>
        <dd>
          <Copyable text={transactionId} label="the transaction ID" />
        </dd>
        <dt>Processor</dt>
        <dd>{processorWord(processor)}</dd>
        {chargedAt === null ? null : (
          <>
            <dt>Paid</dt>
            <dd>
              <Moment at={chargedAt} />
            </dd>
          </>
        )}
        {known === null ? null : <Balance payment={known} />}
      </dl>
      {known === null ? (
        <p class="muted">The payment has not been read yet. It is read before the refund is sent.</p>
      ) : null}
      {children}
    </section>
  );
}

function Balance({ payment }: { payment: KnownPayment }) {
  const { amount, currency, reserved, refundedOutside } = payment;
  return (
    <>
      <dt>Amount</dt>
      <dd>
        <Amount amount={amount} currency={currency} />
      </dd>
      <dt>Refunded here</dt>
      <dd>
        <Amount amount={reserved} currency={currency} />{' '}
        <span class="small muted">including in progress</span>
      </dd>
      <dt>Refunded elsewhere</dt>
      <dd>
        <Amount amount={refundedOutside} currency={currency} />
      </dd>
      <dt>Still refundable</dt>
      <dd>
        <Amount amount={remainingOf(payment) ?? 0n} currency={currency} />
      </dd>
    </>
  );
}

/** The refund's metadata as JSON. */
export function Metadata({ metadata }: { metadata: unknown }) {
  if (metadata === null) return null;
  return (
    <section class="card stack" aria-labelledby="metadata">
      <h2 id="metadata">Metadata</h2>
      <pre>
        <code>{JSON.stringify(metadata, null, 2)}</code>
      </pre>
    </section>
  );
}
