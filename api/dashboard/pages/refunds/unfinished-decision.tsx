import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import type { Context } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';
import { Field, inputProps } from '../../layout/form.tsx';

/** A decision that was entered and could not be carried out as it was. */
export interface UnfinishedDecision {
  dialog: 'reject' | 'resolve';
  problems: FormProblems;
  /** What was entered, by field. */
  entered: (field: string) => string;
  /** True when somebody who knows better may insist. */
  forceable: boolean;
}

export interface DecisionsProps {
  context: Context;
  refund: RefundWithWork;
  /** Shown again, to be mended. */
  unfinished: UnfinishedDecision | null;
}

/** Where a decision about a refund is sent. */
export function decisionUrl({ base }: Context, { id }: Pick<RefundWithWork, 'id'>, decision: string): string {
  return `${base}/refunds/${id}/${decision}`;
}

/** Why somebody decides; it is kept for good. */
export function ReasonField({ name, unfinished }: { name: string; unfinished: UnfinishedDecision | null }) {
  const problem = unfinished?.problems[name];
  return (
    <Field
      name={name}
      label="Reason"
      hint="For the timeline and the audit log, where it is kept for good."
      problem={problem}
    >
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
