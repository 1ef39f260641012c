import { remainingOf } from '../../../../shared/payments/payment.ts';
import type { Payment } from '../../../../shared/platform/database.ts';
import { wordsFor } from '../../../../shared/refunds/model/flag-wording.ts';
import { flagOf } from '../../../../shared/refunds/model/flags.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { isTerminal, type RefundStatus } from '../../../../shared/refunds/model/states.ts';
import { StatusBadge } from '../../layout/badge.tsx';
import { Notice } from '../../layout/notice.tsx';
import { Amount, Copyable, Moment } from '../../layout/values.tsx';
import { initiatorWords, processorWord, reasonWords } from '../../layout/words.ts';
import { failureAdvice } from './advice.ts';

/** Notices about a refund: awaiting approval, failed, flagged or being cancelled, and what to do. */
export function Alerts({ refund, isUncertain }: { refund: RefundWithWork; isUncertain: boolean }) {
  const { status, failureCode, failureMessage, work } = refund;
  const flag = flagOf(work);
  const words = flag === null ? null : wordsFor(flag.reason, flag.facts, processorWord(refund.processor));
  return (
    <>
      {status === 'pending' ? (
        <Notice tone="warn">
          <strong>Awaiting approval.</strong> It is sent after approval.
        </Notice>
      ) : null}
      {status === 'failed' ? (
        <Notice tone="bad">
          <strong>Failed: {failureMessage ?? 'the processor gave no reason.'}</strong>
          {failureAdvice(refund, isUncertain)}
          {failureCode === null ? null : <span class="small"> Code: {failureCode}</span>}
        </Notice>
      ) : null}
      {words === null ? null : (
        <Notice tone="warn">
          <strong>
            Flagged ({words.title.toLowerCase()}): {words.summary}
          </strong>
          {words.advice}
        </Notice>
      )}
      {work?.cancelRequestedAt == null || isTerminal(status) ? null : (
        <Notice tone="wait">Cancellation requested. The processor has not confirmed it yet.</Notice>
      )}
    </>
  );
}

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
            notAtProcessor(status)
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

/** Shown while there is no processor refund ID. */
function notAtProcessor(status: RefundStatus): string {
  return isTerminal(status) ? 'None' : 'Not yet';
}

/**
 * The payment as last read, the refunded amounts and the remaining amount.
 * @param transactionId the one of its ids that the request names.
 */
export function PaymentFacts({
  payment,
  transactionId,
  children,
}: {
  payment: Payment;
  transactionId: string;
  children?: preact.ComponentChildren;
}) {
  const { processor, amount, currency, chargedAt, reserved, refundedOutside } = payment;
  const left = remainingOf(payment);
  const known = amount !== null && currency !== null && left !== null ? { amount, currency, left } : null;
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
        {known === null ? null : <Balance {...known} reserved={reserved} refundedOutside={refundedOutside} />}
      </dl>
      {known === null ? (
        <p class="muted">The payment has not been read yet. It is read before the refund is sent.</p>
      ) : null}
      {children}
    </section>
  );
}

interface BalanceProps extends Pick<Payment, 'reserved' | 'refundedOutside'> {
  amount: bigint;
  currency: string;
  left: bigint;
}

function Balance({ amount, currency, left, reserved, refundedOutside }: BalanceProps) {
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
        <Amount amount={left} currency={currency} />
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
