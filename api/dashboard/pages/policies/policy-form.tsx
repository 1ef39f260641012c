import { ButtonLink, Submit } from '../../components/button.tsx';
import { Fields } from '../../components/fields.tsx';
import { Form, HiddenFields } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { useAddress, useMember } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { type Approval, Unapproved } from '../refunds/approvers.tsx';
import type { EnteredPolicy } from './entered-policy.ts';
import { type FieldRow, fieldGroups, firstFields, policyFields, policyFormSchema } from './policy-fields.ts';

export interface PolicyFormProps {
  /** The digest of the policies that were stored when the form was opened. */
  basedOn: string;
  /** The name of the policy that the form edits; the empty text for a new one. */
  replaces: string;
  policy: EnteredPolicy;
  problems?: FormProblems;
  /** True after a concurrent change: the form can only be reloaded. */
  isStale?: boolean;
  /** Who can first approve what the policy holds back, when no one can now: the form is saved once it is sent again. */
  unapproved?: Approval | null;
}

/** The id of the form. */
export const policyFormId = 'policy';

/** The path of the form of a policy; of a new one for the empty text. */
export function pathOf(name: string): string {
  return `/policies/${name === '' ? 'new' : `edit?name=${encodeURIComponent(name)}`}`;
}

export function PolicyForm(props: PolicyFormProps) {
  const { environment } = useMember();
  const replay = useAddress(`/policies/replay#replay-${environment}`);
  const { basedOn, replaces, policy, problems = {}, isStale = false, unapproved = null } = props;
  const schema = policyFormSchema(entered(policy, 'amountsIn').toUpperCase());
  const hasFieldProblem = Object.keys(problems).some((field) => field !== 'form');
  const bar = (
    <>
      {/* The replay follows the form with scripts. */}
      <noscript>
        <Submit formAction={replay}>Replay</Submit>
      </noscript>
      <p class="small muted">Saving affects new refunds in test and live at once.</p>
    </>
  );
  return (
    <Form
      id={policyFormId}
      to="/policies"
      submit={unapproved === null ? 'Save' : 'Save anyway'}
      entries={{ body: policy, problems }}
      cancel="/policies"
      focus="name"
      bar={bar}
    >
      <HiddenFields values={{ basedOn, replaces, ...(unapproved === null ? {} : { unapproved: 'yes' }) }} />
      {isStale ? (
        <div>
          <ButtonLink to={pathOf(replaces)}>Reload</ButtonLink>
        </div>
      ) : null}
      {hasFieldProblem ? <Notice tone="bad">Fix the highlighted fields.</Notice> : null}
      <Unapproved approval={unapproved} what="refunds that members request" />
      <Fields schema={schema} only={firstFields} />
      {fieldGroups.map(({ legend, note, add, rows }) => {
        const used = rows.filter((row) => isUsed(row, policy, problems));
        const others = rows.filter((row) => !used.includes(row));
        return (
          <fieldset key={legend} class="stack field-group">
            <legend>{legend}</legend>
            <p class="small muted">{note}</p>
            {used.map((row) => (
              <Row key={row.title} schema={schema} row={row} />
            ))}
            {others.length === 0 ? null : (
              <details class="more">
                <summary>{add}</summary>
                <div class="stack-tight">
                  {others.map((row) => (
                    <details key={row.title} class="more added">
                      <summary>{row.title}</summary>
                      <Row schema={schema} row={row} />
                    </details>
                  ))}
                </div>
              </details>
            )}
          </fieldset>
        );
      })}
    </Form>
  );
}

/** Whether something is entered in a row, apart from the currency of an amount, or wrong with it. */
function isUsed({ fields }: FieldRow, policy: EnteredPolicy, problems: FormProblems): boolean {
  return policyFields.some(
    ({ name, kind }) =>
      fields.includes(name) &&
      (problems[name] !== undefined || (kind !== 'currency' && (policy[name] ?? '').length > 0)),
  );
}

function Row({ schema, row }: { schema: ReturnType<typeof policyFormSchema>; row: FieldRow }) {
  const { title, note, fields } = row;
  if (note === undefined) return <Fields schema={schema} only={fields} />;
  return (
    <fieldset class="field side-by-side">
      <legend class="label">{title}</legend>
      <Fields schema={schema} only={fields} />
      <p class="hint">{note}</p>
    </fieldset>
  );
}
