import type { ResolvedStatus } from '../../../../shared/refunds/decisions/evidence.ts';
import {
  canBeKept,
  canBeResolved,
  resolvedStatuses,
} from '../../../../shared/refunds/decisions/possible-resolutions.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { Confirm } from '../../layout/dialog.tsx';
import { Field, FormNotice, inputProps } from '../../layout/form.tsx';
import {
  type DecisionsProps,
  decisionUrl,
  ReasonField,
  type UnfinishedDecision,
} from './unfinished-decision.tsx';

const ends: Record<ResolvedStatus | 'keep', string> = {
  completed: 'It completed: the customer has the money, or gets it.',
  failed: 'It failed: the customer did not get this money.',
  cancelled: 'It is cancelled: the customer shall not get this money.',
  keep: 'It stands as it is: the flag goes, and the same problem is not shown again.',
};

/** Ends a flagged refund by a person's word; the processor is asked first. */
export function ResolveDialog({ context, refund, unfinished }: DecisionsProps) {
  const mine = unfinished?.dialog === 'resolve' ? unfinished : null;
  const offered = offeredEnds(refund);
  return (
    <Confirm
      id="resolve"
      action="Decide"
      title="Decide how it ends"
      kind="danger"
      to={decisionUrl(context, refund, 'resolve')}
      csrfToken={context.csrfToken}
      isOpen={mine !== null}
    >
      <p>The processor is asked first. While it says otherwise or cannot be asked, nothing is changed.</p>
      {mine === null ? null : <FormNotice problems={mine.problems} />}
      <EndChoice offered={offered} unfinished={mine} />
      {offered.includes('completed') ? <ProcessorRefundField refund={refund} unfinished={mine} /> : null}
      <ReasonField name="resolveReason" unfinished={mine} />
      {mine?.forceable ? <ForceChoice /> : null}
    </Confirm>
  );
}

function offeredEnds(refund: RefundWithWork): (ResolvedStatus | 'keep')[] {
  const statuses = resolvedStatuses.filter((status) => canBeResolved(refund, status));
  return canBeKept(refund) ? [...statuses, 'keep'] : statuses;
}

interface EndChoiceProps {
  offered: readonly (ResolvedStatus | 'keep')[];
  unfinished: UnfinishedDecision | null;
}

function EndChoice({ offered, unfinished }: EndChoiceProps) {
  const chosen = unfinished?.entered('end') || (offered.length === 1 ? offered[0] : '');
  const problem = unfinished?.problems.end;
  return (
    <fieldset class="stack-tight">
      <legend class="label">How did it end?</legend>
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
      label="The processor's id of the refund"
      hint={
        refund.externalRefundId === null
          ? 'Only when it completed; look it up at the processor.'
          : `Only when it completed as another one than ${refund.externalRefundId}.`
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
      <input type="checkbox" name="force" value="yes" /> I know better, and insist. If that is wrong, the
      customer is told of money that never comes, or is paid twice.
    </label>
  );
}
