import { mayAct } from '../../../../shared/people/roles.ts';
import { type ResolvedStatus, resolvedStatuses } from '../../../../shared/refunds/decisions/evidence.ts';
import { canBeResolved } from '../../../../shared/refunds/decisions/resolve.ts';
import { canBeCancelled } from '../../../../shared/refunds/lifecycle/cancel.ts';
import { canBeDismissed } from '../../../../shared/refunds/lifecycle/flag.ts';
import { isFlaggedForExtra } from '../../../../shared/refunds/model/flags.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import type { Context } from '../../http/access.ts';
import { Confirm } from '../../layout/dialog.tsx';
import { Field, FormNotice, inputProps } from '../../layout/form.tsx';
import { Amount } from '../../layout/values.tsx';
import { processorWord } from '../../layout/words.ts';
import type { DecisionsProps, UnfinishedDecision } from './decision-result.ts';

interface AllDecisionsProps extends DecisionsProps {
  /** Why the user may not approve it; null when they may. */
  approvalRefusal: string | null;
}

/** The decisions that are possible in the refund's state; nothing for viewers. */
export function Decisions({ context, refund, unfinished, approvalRefusal }: AllDecisionsProps) {
  if (!mayAct(context.role, 'operator')) return null;
  const isFlagged = refund.work?.flaggedAt != null;
  const isPending = refund.status === 'pending';
  const isCancellable = !isPending && canBeCancelled(refund) && refund.work?.cancelRequestedAt == null;
  if (!isPending && !isCancellable && !isFlagged) return null;
  return (
    <div class="row" id="decisions">
      {isPending ? <Approve context={context} refund={refund} refusal={approvalRefusal} /> : null}
      {isPending ? <RejectDialog context={context} refund={refund} unfinished={unfinished} /> : null}
      {isCancellable ? <CancelDialog context={context} refund={refund} /> : null}
      {isFlagged && !isPending ? <RecheckDialog context={context} refund={refund} /> : null}
      {isFlagged ? <ResolveDialog context={context} refund={refund} unfinished={unfinished} /> : null}
    </div>
  );
}

type DialogProps = Omit<DecisionsProps, 'unfinished'>;

function Approve({ context, refund, refusal }: DialogProps & { refusal: string | null }) {
  if (refusal !== null) return <p>{refusal}</p>;
  if (isFlaggedForExtra(refund.work)) return <p>Resolve the flag before you approve this refund.</p>;
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
        <Amount amount={refund.amount} currency={refund.currency} /> is sent to{' '}
        {processorWord(refund.processor)} now. This can't be undone.
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
      <p>It will be cancelled and never sent. Its amount becomes refundable again.</p>
      <ReasonField name="rejectReason" unfinished={mine} />
    </Confirm>
  );
}

function CancelDialog({ context, refund }: DialogProps) {
  return (
    <Confirm
      id="cancel"
      action="Cancel refund"
      title="Cancel this refund?"
      kind="danger"
      to={decisionUrl(context, refund, 'cancel')}
      csrfToken={context.csrfToken}
    >
      <p>
        Once cancelled, the customer won't get the money.{' '}
        {refund.externalRefundId === null
          ? 'If the refund has not been sent, it is cancelled immediately.'
          : `${processorWord(refund.processor)} has already received the refund and may refuse to cancel it.`}
      </p>
    </Confirm>
  );
}

function RecheckDialog({ context, refund }: DialogProps) {
  return (
    <Confirm
      id="recheck"
      action="Recheck"
      title="Recheck this refund?"
      kind="primary"
      to={decisionUrl(context, refund, 'recheck')}
      csrfToken={context.csrfToken}
    >
      <p>Its current status is read from {processorWord(refund.processor)}.</p>
    </Confirm>
  );
}

const ends: Record<ResolvedStatus | 'dismiss', string> = {
  completed: 'Completed: the customer received or will receive the money.',
  failed: "Failed: the customer won't receive the money.",
  cancelled: "Cancelled: the customer won't receive the money.",
  dismiss: 'Dismiss: keep the current status and do not flag this again.',
};

/** Resolves a flagged refund, or dismisses its flag. */
function ResolveDialog({ context, refund, unfinished }: DecisionsProps) {
  const mine = unfinished?.dialog === 'resolve' ? unfinished : null;
  const offered = offeredEnds(refund);
  return (
    <Confirm
      id="resolve"
      action="Resolve"
      title="Resolve this flag"
      kind="danger"
      to={decisionUrl(context, refund, 'resolve')}
      csrfToken={context.csrfToken}
      isOpen={mine !== null}
    >
      <p>The new status is checked against the processor first.</p>
      {mine === null ? null : <FormNotice problems={mine.problems} />}
      {/* The decision is about the flag that the person has seen. */}
      <input type="hidden" name="flaggedAt" value={refund.work?.flaggedAt?.toISOString()} />
      <EndChoice offered={offered} unfinished={mine} />
      {offered.includes('completed') ? <ProcessorRefundField refund={refund} unfinished={mine} /> : null}
      <ReasonField name="resolveReason" unfinished={mine} />
      {mine?.forceable ? <ForceChoice /> : null}
    </Confirm>
  );
}

function offeredEnds(refund: RefundWithWork): (ResolvedStatus | 'dismiss')[] {
  const statuses = resolvedStatuses.filter((status) => canBeResolved(refund, status));
  return canBeDismissed(refund) ? [...statuses, 'dismiss'] : statuses;
}

interface EndChoiceProps {
  offered: readonly (ResolvedStatus | 'dismiss')[];
  unfinished: UnfinishedDecision | null;
}

function EndChoice({ offered, unfinished }: EndChoiceProps) {
  const chosen = unfinished?.entered('end') || (offered.length === 1 ? offered[0] : '');
  const problem = unfinished?.problems.end;
  return (
    <fieldset class="stack-tight">
      <legend class="label">Resolve as</legend>
      {offered.map((end) => (
        <label key={end}>
          <input type="radio" name="end" value={end} checked={chosen === end} required /> {ends[end]}
        </label>
      ))}
      {problem === undefined ? null : <p class="problem">{problem}</p>}
    </fieldset>
  );
}

function ProcessorRefundField({
  refund,
  unfinished,
}: {
  refund: RefundWithWork;
  unfinished: UnfinishedDecision | null;
}) {
  const name = 'processorRefund';
  const problem = unfinished?.problems[name];
  return (
    <Field
      name={name}
      label="Processor's refund ID"
      hint={
        refund.externalRefundId === null
          ? 'Required for a completed refund.'
          : `Only if it completed as a refund other than ${refund.externalRefundId}.`
      }
      problem={problem}
    >
      <input
        {...inputProps(name, problem)}
        value={unfinished?.entered(name) ?? ''}
        maxLength={255}
        autocomplete="off"
        spellcheck={false}
      />
    </Field>
  );
}

function ForceChoice() {
  return (
    <label>
      <input type="checkbox" name="force" value="yes" /> Resolve anyway. If this is wrong, the customer may
      get no money or be paid twice.
    </label>
  );
}

/** Where a decision about a refund is posted. */
function decisionUrl({ base }: Context, { id }: Pick<RefundWithWork, 'id'>, decision: string): string {
  return `${base}/refunds/${id}/${decision}`;
}

/** The reason for a decision. */
function ReasonField({ name, unfinished }: { name: string; unfinished: UnfinishedDecision | null }) {
  const problem = unfinished?.problems[name];
  return (
    <Field name={name} label="Reason" hint="Stored in the timeline and the audit log." problem={problem}>
      <input
        {...inputProps(name, problem)}
        value={unfinished?.entered(name) ?? ''}
        required
        maxLength={500}
        autocomplete="off"
      />
    </Field>
  );
}
