import { mayAct } from '../../../../shared/people/roles.ts';
import { mayBeCancelled } from '../../../../shared/refunds/lifecycle/cancel.ts';
import { Confirm } from '../../layout/dialog.tsx';
import { Amount } from '../../layout/values.tsx';
import { processorWord } from '../../layout/words.ts';
import { ResolveDialog } from './resolve-dialog.tsx';
import { type DecisionsProps, decisionUrl, ReasonField } from './unfinished-decision.tsx';

interface AllDecisionsProps extends DecisionsProps {
  /** True for who asked for the refund, who does not approve it as well. */
  isOwnRequest: boolean;
}

/** What a person can decide about a refund as it is now; nothing for those who may only look. */
export function Decisions({ context, refund, unfinished, isOwnRequest }: AllDecisionsProps) {
  if (!mayAct(context.role, 'operator')) return null;
  const { status, work } = refund;
  const flaggedAt = work?.flaggedAt ?? null;
  const isPending = status === 'pending';
  const isCancellable = !isPending && mayBeCancelled(refund);
  if (!isPending && !isCancellable && flaggedAt === null) return null;
  return (
    <div class="row" id="decisions">
      {isPending && !isOwnRequest ? <ApproveDialog context={context} refund={refund} /> : null}
      {isPending && isOwnRequest ? (
        <p>You asked for this refund, so that somebody else has to approve it.</p>
      ) : null}
      {isPending ? <RejectDialog context={context} refund={refund} unfinished={unfinished} /> : null}
      {isCancellable ? <CancelDialog context={context} refund={refund} /> : null}
      {flaggedAt !== null && !isPending ? <RecheckDialog context={context} refund={refund} /> : null}
      {flaggedAt === null ? null : (
        <ResolveDialog context={context} refund={refund} unfinished={unfinished} />
      )}
    </div>
  );
}

type DialogProps = Omit<DecisionsProps, 'unfinished'>;

function ApproveDialog({ context, refund }: DialogProps) {
  return (
    <Confirm
      id="approve"
      action="Approve"
      title="Approve this refund?"
      kind="primary"
      to={decisionUrl(context, refund, 'approve')}
      csrfToken={context.csrfToken}
    >
      <p>
        <Amount amount={refund.amount} currency={refund.currency} /> are sent to{' '}
        {processorWord(refund.processor)} now. That can hardly be taken back.
      </p>
    </Confirm>
  );
}

function RejectDialog({ context, refund, unfinished }: DecisionsProps) {
  const mine = unfinished?.dialog === 'reject' ? unfinished : null;
  return (
    <Confirm
      id="reject"
      action="Reject"
      title="Reject this refund?"
      kind="danger"
      to={decisionUrl(context, refund, 'reject')}
      csrfToken={context.csrfToken}
      isOpen={mine !== null}
    >
      <p>It is cancelled and never sent. Its amount can be refunded again.</p>
      <ReasonField name="rejectReason" unfinished={mine} />
    </Confirm>
  );
}

function CancelDialog({ context, refund }: DialogProps) {
  return (
    <Confirm
      id="cancel"
      action="Cancel the refund"
      title="Cancel this refund?"
      kind="danger"
      to={decisionUrl(context, refund, 'cancel')}
      csrfToken={context.csrfToken}
    >
      <p>
        The customer does not get the money then.{' '}
        {refund.externalRefundId === null
          ? 'What has not been sent is cancelled at once.'
          : `${processorWord(refund.processor)} has it already and is asked; it may refuse.`}
      </p>
    </Confirm>
  );
}

function RecheckDialog({ context, refund }: DialogProps) {
  return (
    <Confirm
      id="recheck"
      action="Check again"
      title="Check this refund again?"
      kind="primary"
      to={decisionUrl(context, refund, 'recheck')}
      csrfToken={context.csrfToken}
    >
      <p>It is read again from {processorWord(refund.processor)} now. Nothing is sent by that.</p>
    </Confirm>
  );
}
