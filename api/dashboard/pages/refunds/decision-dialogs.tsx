import type { ComponentChildren } from 'preact';
import { holdInWords } from '#shared/policies/explain.ts';
import { maxNoteLength } from '#shared/refunds/decisions/annotate.ts';
import { resolvedStatuses } from '#shared/refunds/decisions/evidence.ts';
import { canBeResolved } from '#shared/refunds/decisions/resolve.ts';
import { canBeCancelled } from '#shared/refunds/lifecycle/cancel.ts';
import { canBeDismissed } from '#shared/refunds/lifecycle/flag.ts';
import { isFlaggedForExtra } from '#shared/refunds/model/flags.ts';
import { heldUntilOf, type RefundWithWork } from '#shared/refunds/model/refund.ts';
import { Confirm, type ConfirmProps } from '../../components/dialog.tsx';
import { type FormState, Post, TextAreaField, TextField } from '../../components/form.tsx';
import { Amount } from '../../components/values.tsx';
import { entered } from '../../http/forms.ts';
import { type Choices, processorWord } from '../../words/words.ts';

/** A decision that could not be carried out as it was entered; its dialog is shown again. */
export interface UnfinishedDecision extends FormState {
  dialog: 'reject' | 'resolve' | 'note';
  /** True when `force` would carry it out. */
  forceable: boolean;
}

interface DecisionsProps {
  refund: RefundWithWork;
  unfinished: UnfinishedDecision | null;
  /** Why the user may not approve it; null when they may. */
  approvalRefusal: string | null;
  now: Date;
}

/** The decisions that are possible in the refund's state, and a note in any; viewers have none. */
export function Decisions({ refund, unfinished, approvalRefusal, now }: DecisionsProps) {
  const isFlagged = refund.work?.flaggedAt != null;
  const isPending = refund.status === 'pending';
  const isCancellable = !isPending && canBeCancelled(refund) && refund.work?.cancelRequestedAt == null;
  const props = { refund };
  const formOf = (dialog: UnfinishedDecision['dialog']) =>
    unfinished?.dialog === dialog ? unfinished : undefined;
  return (
    <>
      {isPending && approvalRefusal === null && !isFlaggedForExtra(refund.work) && <Approve {...props} />}
      {isPending && <Reject to={`/refunds/${refund.id}/reject`} submitted={formOf('reject')} />}
      {isCancellable ? heldUntilOf(refund, now) === null ? <Cancel {...props} /> : <Undo {...props} /> : null}
      {isFlagged && !isPending ? <Recheck {...props} /> : null}
      {isFlagged ? <Resolve {...props} submitted={formOf('resolve')} /> : null}
      <Note {...props} submitted={formOf('note')} />
    </>
  );
}

interface DialogProps {
  refund: RefundWithWork;
}

type DialogWithFieldsProps = DialogProps & { submitted: UnfinishedDecision | undefined };

/** Its id is the last part of the address of the decision. */
function Dialog({ refund, id, ...confirm }: { refund: RefundWithWork } & Omit<ConfirmProps, 'to'>) {
  return <Confirm {...confirm} id={id} to={`/refunds/${refund.id}/${id}`} />;
}

function Approve(props: DialogProps) {
  const { amount, currency, processor, heldUntil, createdAt } = props.refund;
  const hold = heldUntil === null ? null : holdInWords((+heldUntil - +createdAt) / 1_000);
  return (
    <Dialog {...props} id="approve" action="Approve" title="Approve this refund?" kind="primary">
      <p>
        <Amount amount={amount} currency={currency} /> is sent to {processorWord(processor)}{' '}
        {hold === null ? "now. This can't be undone." : `after ${hold}. Until then it can be undone.`}
      </p>
    </Dialog>
  );
}

interface RejectProps extends Pick<ConfirmProps, 'to' | 'shortcut'> {
  submitted: UnfinishedDecision | undefined;
}

/** A button that rejects a refund for a reason. */
export function Reject({ submitted, ...props }: RejectProps) {
  return (
    <Confirm
      {...props}
      id="reject"
      action="Reject"
      title="Reject this refund?"
      kind="danger"
      form={submitted}
    >
      <p>It will be cancelled and never sent. Its amount becomes refundable again.</p>
      <ReasonField name="rejectReason" form={submitted} />
    </Confirm>
  );
}

/** Cancels a held refund, which is certain to succeed and moves no money, so without a confirmation. */
function Undo({ refund }: DialogProps) {
  return (
    <Post to={`/refunds/${refund.id}/cancel`} kind="primary">
      Undo
    </Post>
  );
}

function Cancel(props: DialogProps) {
  const { refund } = props;
  return (
    <Dialog {...props} id="cancel" action="Cancel refund" title="Cancel this refund?" kind="danger">
      <p>
        Once cancelled, the customer won't get the money.{' '}
        {refund.externalRefundId === null
          ? 'If the refund has not been sent, it is cancelled immediately.'
          : `${processorWord(refund.processor)} has already received the refund and may refuse to cancel it.`}
      </p>
    </Dialog>
  );
}

function Recheck(props: DialogProps) {
  return (
    <Dialog {...props} id="recheck" action="Recheck" title="Recheck this refund?" kind="primary">
      <p>Its current status is read from {processorWord(props.refund.processor)}.</p>
    </Dialog>
  );
}

const ends = {
  completed: 'Completed: the customer received or will receive the money.',
  failed: "Failed: the customer won't receive the money.",
  cancelled: "Cancelled: the customer won't receive the money.",
  dismiss: 'Dismiss: keep the current status and do not flag this again.',
};

/** Resolves a flagged refund, or dismisses its flag. */
function Resolve({ submitted, ...props }: DialogWithFieldsProps) {
  const { refund } = props;
  const statuses = resolvedStatuses.filter((status) => canBeResolved(refund, status));
  const offered = [...statuses, ...(canBeDismissed(refund) ? (['dismiss'] as const) : [])];
  return (
    <Dialog {...props} id="resolve" action="Resolve" title="Resolve this flag" kind="danger" form={submitted}>
      <p>The new status is checked against the processor first.</p>
      {/* The decision is about the flag that the person has seen. */}
      <input type="hidden" name="flaggedAt" value={refund.work?.flaggedAt?.toISOString()} />
      <OneOf
        legend="Resolve as"
        name="end"
        choices={offered.map((end) => [end, ends[end]])}
        form={submitted}
      />
      {offered.includes('completed') ? (
        <TextField
          form={submitted}
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
      <ReasonField name="resolveReason" form={submitted} />
      {submitted?.forceable ? (
        <label>
          <input type="checkbox" name="force" value="yes" /> Resolve anyway. If this is wrong, the customer
          may get no money or be paid twice.
        </label>
      ) : null}
    </Dialog>
  );
}

/** Adds a note to the timeline. */
function Note({ submitted, ...props }: DialogWithFieldsProps) {
  return (
    <Dialog {...props} id="note" action="Add note" title="Add a note" form={submitted}>
      <TextAreaField
        form={submitted}
        name="note"
        label="Note"
        hint="Members of the organization see it in the timeline. It can't be changed or deleted."
        required
        maxLength={maxNoteLength}
      />
    </Dialog>
  );
}

interface OneOfProps {
  legend: string;
  name: string;
  choices: Choices;
  form: FormState | undefined;
}

/** Radio buttons, of which the only one is chosen. */
export function OneOf({ legend, name, choices, form }: OneOfProps): ComponentChildren {
  const chosen = entered(form?.body, name) || (choices.length === 1 ? choices[0]?.[0] : '');
  const problem = form?.problems[name];
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
  form: FormState | undefined;
  /** True in a form whose other decisions need no reason. */
  isOnlyToReject?: boolean;
}

/** The reason for a decision. */
export function ReasonField({ name, form, isOnlyToReject = false }: ReasonFieldProps) {
  return (
    <TextField
      form={form}
      name={name}
      label="Reason"
      hint={`${isOnlyToReject ? 'Required to reject. ' : ''}Shown in the timeline and under Activity.`}
      required={!isOnlyToReject}
      maxLength={500}
    />
  );
}
