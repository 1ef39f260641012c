import { ButtonLink, Submit } from '../../components/button.tsx';
import { Fields } from '../../components/fields.tsx';
import { CsrfField, FormNotice } from '../../components/form.tsx';
import { EntriesProvider } from '../../components/inputs.tsx';
import { Notice } from '../../components/notice.tsx';
import { useAddress } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import type { EnteredPolicy } from './entered-policy.ts';
import { fieldGroups, firstFields, policyFormSchema } from './policy-fields.ts';

export interface PolicyFormProps {
  /** The digest of the policies that were stored when the form was opened. */
  basedOn: string;
  /** The name of the policy that the form edits; the empty text for a new one. */
  replaces: string;
  policy: EnteredPolicy;
  problems?: FormProblems;
  /** True after a concurrent change: the form can only be reloaded. */
  isStale?: boolean;
}

/** The id of the form. */
export const policyFormId = 'policy';

/** The path of the form of a policy; of a new one for the empty text. */
export function pathOf(name: string): string {
  return `/policies/${name === '' ? 'new' : `edit?name=${encodeURIComponent(name)}`}`;
}

export function PolicyForm(props: PolicyFormProps) {
  const save = useAddress('/policies');
  const replay = useAddress('/policies/replay#replay');
  const { basedOn, replaces, policy, problems = {}, isStale = false } = props;
  const schema = policyFormSchema(entered(policy, 'amountsIn').toUpperCase());
  const hasFieldProblem = Object.keys(problems).some((field) => field !== 'form');
  return (
    <form id={policyFormId} method="post" action={save} class="stack" noValidate>
      <div class="card stack">
        <CsrfField />
        <input type="hidden" name="basedOn" value={basedOn} />
        <input type="hidden" name="replaces" value={replaces} />
        <FormNotice problem={problems.form} />
        {isStale ? (
          <div>
            <ButtonLink to={pathOf(replaces)}>Reload</ButtonLink>
          </div>
        ) : null}
        {hasFieldProblem ? <Notice tone="bad">Fix the highlighted fields.</Notice> : null}
        <EntriesProvider value={{ body: policy, problems }}>
          <Fields schema={schema} only={firstFields} />
          {fieldGroups.map(({ legend, note, rows }) => (
            <fieldset key={legend} class="stack field-group">
              <legend>{legend}</legend>
              <p class="small muted">{note}</p>
              {rows.map((fields) => (
                <Fields key={fields[0]} schema={schema} only={fields} />
              ))}
            </fieldset>
          ))}
        </EntriesProvider>
      </div>
      <div class="action-bar card row">
        <Submit kind="primary">Save</Submit>
        {/* The replay follows the form with scripts. */}
        <noscript>
          <Submit formAction={replay}>Replay</Submit>
        </noscript>
        <ButtonLink to="/policies">Cancel</ButtonLink>
        <p class="small muted">Saving affects new refunds in test and live at once.</p>
      </div>
    </form>
  );
}
