import type { Payment, Refund } from '#shared/platform/database.ts';
import { approvalReasons, denialReason, type StoredDecision } from '#shared/policies/decision.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import { flagOf, isFlaggedForExtra } from '#shared/refunds/model/flags.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import type { Waiting } from '#shared/refunds/model/waiting.ts';
import { Notice } from '../../components/notice.tsx';
import { Sentence } from '../../components/values.tsx';
import { disputedWords } from '../../words/words.ts';
import { type Approval, Approvers } from './approvers.tsx';
import { nextStep } from './next-step.ts';

interface AlertsProps {
  refund: RefundWithWork;
  payment: Pick<Payment, 'disputedAt'>;
  /** What it waits for. */
  waiting: Waiting | null;
  /** True when the refund may have moved money although it failed. */
  isUncertain: boolean;
  /** What was decided when it was created. */
  decision: StoredDecision;
  /** Why the user may not approve it; null when they may. */
  approvalRefusal: string | null;
  /** Who can; null when it does not await approval. */
  approval: Approval | null;
  now: Date;
}

/** Why a refund is not moving, or what happens next to it, and notices: awaiting approval, failed or flagged, and what to do. */
export function Alerts({
  refund,
  payment,
  waiting,
  isUncertain,
  decision,
  approvalRefusal,
  approval,
  now,
}: AlertsProps) {
  const { status, failureCode, failureMessage, work } = refund;
  const flag = flagOf(work);
  const denial = denialReason(decision);
  const words = flag === null ? null : wordsFor(flag.reason, flag.facts, refund.processor);
  const next = nextStep({ refund, waiting, isUncertain, now });
  return (
    <>
      {next === null ? null : (
        <p>
          <Sentence text={next} />
        </p>
      )}
      {isTerminal(status) ? null : <Disputed refund={refund} payment={payment} />}
      {status === 'pending' ? (
        <Notice tone="warn">
          <strong>Awaiting approval by an operator who did not request it.</strong> Nothing is sent before.{' '}
          {isFlaggedForExtra(work) ? 'Resolve the flag before you approve this refund.' : approvalRefusal}
          {approvalReasons(decision, refund.currency).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          {approval === null ? null : <Approvers approval={approval} />}
        </Notice>
      ) : null}
      {denial === null ? null : (
        <Notice tone="warn">
          <strong>Denied by policy, not blocked.</strong> {denial}
        </Notice>
      )}
      {status === 'failed' ? (
        <Notice tone="bad">
          <strong>Failed: {failureMessage ?? 'the processor gave no reason.'}</strong>
          {flag?.reason === 'returned'
            ? null
            : isUncertain
              ? uncertain
              : (adviceByCode[failureCode ?? ''] ?? otherAdvice)}
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
    </>
  );
}

/** Warns of a payment that was charged back. */
export function Disputed({
  refund,
  payment,
}: Pick<AlertsProps, 'payment'> & { refund: Pick<Refund, 'processor'> }) {
  return payment.disputedAt === null ? null : (
    <Notice tone="bad">
      <strong>{disputedWords}</strong> Respond to the dispute in {displayNameOf(refund.processor)}.
    </Notice>
  );
}

const uncertain =
  'The customer may have received the money. Do not refund it again before you check with the processor.';

const otherAdvice = 'The customer did not get this money. Fix the cause, then create another refund.';

const adviceByCode: Readonly<Record<string, string>> = {
  already_refunded: 'The payment has already been refunded in full. There is nothing to do.',
  amount_too_large: 'Create another refund of the remaining amount or less.',
  currency_mismatch: 'Create another refund in the currency of the payment.',
  transaction_not_found:
    'Check the payment ID and that the payment was made in this environment, then create another refund.',
  processor_unavailable: 'It was never sent. Create another refund once the processor is available.',
  reversed: 'The refund was reversed. Pay the customer another way.',
  expired_or_canceled_card: 'The card has expired or was cancelled. Pay the customer another way.',
  lost_or_stolen_card: 'The card was reported lost or stolen. Pay the customer another way.',
  insufficient_funds: 'Add funds to the processor account, then create another refund.',
  charge_disputed: 'The customer has the money back from the chargeback. Do not refund it as well.',
  charge_for_pending_refund_disputed:
    'The customer disputed the payment. Respond to the dispute instead of refunding.',
  resolved_by_person: 'Resolved as failed by an operator. See the timeline.',
};
