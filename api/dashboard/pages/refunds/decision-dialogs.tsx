import { holdInWords } from '#shared/policies/explain.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { canBeDismissed } from '#shared/refunds/changes/flag.ts';
import { maxNoteLength } from '#shared/refunds/decisions/annotate.ts';
import { resolvedStatuses } from '#shared/refunds/decisions/evidence.ts';
import { canBeResolved } from '#shared/refunds/decisions/resolve.ts';
import { canBeCancelled } from '#shared/refunds/lifecycle/cancel.ts';
import { isFlaggedForExtra } from '#shared/refunds/model/flags.ts';
import { heldUntilOf, type RefundWithWork } from '#shared/refunds/model/refund.ts';
import { Confirm, type ConfirmProps } from '../../components/dialog.tsx';
import { Post } from '../../components/form.tsx';
import { TextAreaField, TextField, useEntries } from '../../components/inputs.tsx';
import { Amount } from '../../components/values.tsx';
import { entered } from '../../http/forms.ts';
import type { Choices } from '../../words/words.ts';

interface DecisionsProps {
  refund: RefundWithWork;
  /** True when a resolution was refused that `force` would carry out. */
  isForceable: boolean | undefined;
  /** Why the user may not approve it; null when they may. */
  approvalRefusal: string | null;
  now: Date;
}

/** The decisions that are possible in the refund's state, and a note in any; viewers have none. */
export function Decisions({ refund, isForceable, approvalRefusal, now }: DecisionsProps) {
  const { id, status, work } = refund;
  const isFlagged = work?.flaggedAt != null;
  const isPending = status === 'pending';
  const isCancellable = !isPending && canBeCancelled(refund) && work?.cancelRequestedAt == null;
  const isHeld = heldUntilOf(refund, now) !== null;
  const posted = (decision: string) => ({ id: decision, to: `/refunds/${id}/${decision}` });
  return (
    <>
      {isPending && approvalRefusal === null && !isFlaggedForExtra(work) && (
        <Approve {...{ refund, ...posted('approve') }} />
      )}
      {isPending && <Reject {...posted('reject')} />}
      {/* Cancelling a held refund is certain to succeed and moves no money, so it needs no confirmation. */}
      {isCancellable && isHeld && (
        <Post to={posted('cancel').to} kind="primary">
          Undo
        </Post>
      )}
      {isCancellable && !isHeld && <Cancel {...{ refund, ...posted('cancel') }} />}
      {isFlagged && !isPending && (
        <Post to={posted('recheck').to} kind="primary">
          Recheck
        </Post>
      )}
      {isFlagged && <Resolve {...{ refund, isForceable, ...posted('resolve') }} />}
      <Note {...posted('note')} />
    </>
  );
}

interface DialogProps extends Pick<ConfirmProps, 'id' | 'to'> {
  refund: RefundWithWork;
}

function Approve({ refund, ...posted }: DialogProps) {
  const { amount, currency, processor, heldUntil, createdAt } = refund;
  const hold = heldUntil === null ? null : holdInWords((+heldUntil - +createdAt) / 1_000);
  return (
    <Confirm {...posted} action="Approve" title="Approve this refund?" kind="primary">
      <p>
        <Amount amount={amount} currency={currency} /> is sent to {displayNameOf(processor)}{' '}
        {hold === null ? "now. This can't be undone." : `after ${hold}. Until then it can be undone.`}
      </p>
    </Confirm>
  );
}

/** A button that rejects a refund for a reason. */
export function Reject({ to, shortcut }: Pick<ConfirmProps, 'to' | 'shortcut'>) {
  const words = { action: 'Reject', title: 'Reject this refund?' };
  return (
    <Confirm {...{ to, shortcut, ...words }} id="reject" kind="danger">
      <p>It will be cancelled and never sent. Its amount becomes refundable again.</p>
      <ReasonField name="rejectReason" />
    </Confirm>
  );
}

function Cancel({ refund, ...posted }: DialogProps) {
  return (
    <Confirm {...posted} action="Cancel refund" title="Cancel this refund?" kind="danger">
      <p>
        Once cancelled, the customer won't get the money.{' '}
        {refund.externalRefundId === null
          ? 'If the refund has not been sent, it is cancelled immediately.'
          : `${displayNameOf(refund.processor)} has already received the refund and may refuse to cancel it.`}
      </p>
    </Confirm>
  );
}

const ends = {
  completed: 'Completed: the customer received or will receive the money.',
  failed: "Failed: the customer won't receive the money.",
  cancelled: "Cancelled: the customer won't receive the money.",
  dismiss: 'Keep the current status, and do not flag this again.',
};

/** Resolves a flagged refund, or dismisses its flag. */
function Resolve({ refund, isForceable, ...posted }: DialogProps & Pick<DecisionsProps, 'isForceable'>) {
  const statuses = resolvedStatuses.filter((status) => canBeResolved(refund, status));
  const offered = [...statuses, ...(canBeDismissed(refund) ? (['dismiss'] as const) : [])];
  return (
    <Confirm {...posted} action="Resolve" title="Resolve this flag" kind="danger">
      <p>The new status is checked against the processor first.</p>
      {/* The decision is about the flag that the person has seen. */}
      <input type="hidden" name="flaggedAt" value={refund.work?.flaggedAt?.toISOString()} />
      <OneOf legend="Resolve as" name="end" choices={offered.map((end) => [end, ends[end]])} />
      {offered.includes('completed') ? (
        <TextField
          name="processorRefund"
          label="Processor's refund ID"
          hint={
            refund.externalRefundId === null
              ? 'Required for a completed refund.'
              : `Only if it completed as a refund other than ${refund.externalRefundId}.`
          }
          maxLength={255}
          spellcheck={false}
        />
      ) : null}
      <ReasonField name="resolveReason" />
      {isForceable ? (
        <label>
          <input type="checkbox" name="force" value="yes" /> Resolve anyway. If this is wrong, the customer
          may get no money or be paid twice.
        </label>
      ) : null}
    </Confirm>
  );
}

/** Adds a note to the timeline. */
function Note(posted: Omit<DialogProps, 'refund'>) {
  return (
    <Confirm {...posted} action="Add note" title="Add a note">
      <TextAreaField
        name="note"
        label="Note"
        hint="Members of the organization see it in the timeline. It can't be changed or deleted."
        required
        maxLength={maxNoteLength}
      />
    </Confirm>
  );
}

interface OneOfProps {
  legend: string;
  name: string;
  choices: Choices;
}

/** Radio buttons, of which the only one is chosen. */
export function OneOf({ legend, name, choices }: OneOfProps) {
  const { body, problems } = useEntries();
  const chosen = entered(body, name) || (choices.length === 1 ? choices[0]?.[0] : '');
  const problem = problems[name];
  return (
    <fieldset class="field">
      <legend class="label">{legend}</legend>
      {choices.map(([value, words]) => (
        <label key={value}>
          <input type="radio" name={name} value={value} checked={chosen === value} required /> {words}
        </label>
      ))}
      {problem === undefined ? null : <p class="problem">{problem}</p>}
    </fieldset>
  );
}

interface ReasonFieldProps {
  name: string;
  /** True in a form whose other decisions need no reason. */
  isOnlyToReject?: boolean;
}

/** The reason for a decision. */
export function ReasonField({ name, isOnlyToReject = false }: ReasonFieldProps) {
  return (
    <TextField
      name={name}
      label="Reason"
      hint={`${isOnlyToReject ? 'Required to reject. ' : ''}Shown in the timeline and under Activity.`}
      required={!isOnlyToReject}
      maxLength={500}
    />
  );
}
