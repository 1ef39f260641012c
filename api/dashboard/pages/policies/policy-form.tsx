import { ButtonLink, Submit } from '../../components/button.tsx';
import {
  CheckboxesField,
  CsrfField,
  FormNotice,
  type FormState,
  JsonField,
  SelectField,
  TextField,
} from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { useMember } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import type { EnteredPolicy } from './entered-policy.ts';
import { fieldGroups, firstFields, type PolicyField } from './policy-fields.ts';

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
  const { base } = useMember();
  const { basedOn, replaces, policy, problems = {}, isStale = false } = props;
  const form = { body: policy, problems };
  const hasFieldProblem = Object.keys(problems).some((field) => field !== 'form');
  return (
    <form id={policyFormId} method="post" action={`${base}/policies`} class="stack" noValidate>
      <div class="card stack">
        <CsrfField />
        <input type="hidden" name="basedOn" value={basedOn} />
        <input type="hidden" name="replaces" value={replaces} />
        <FormNotice problems={problems} />
        {isStale ? (
          <div>
            <ButtonLink to={pathOf(replaces)}>Reload</ButtonLink>
          </div>
        ) : null}
        {hasFieldProblem ? <Notice tone="bad">Fix the highlighted fields.</Notice> : null}
        <Row form={form} fields={firstFields} />
        {fieldGroups.map(({ legend, note, rows }) => (
          <fieldset key={legend} class="stack field-group">
            <legend>{legend}</legend>
            <p class="small muted">{note}</p>
            {rows.map((fields) => (
              <Row key={fields[0]?.name} form={form} fields={fields} />
            ))}
          </fieldset>
        ))}
      </div>
      <div class="action-bar card row">
        <Submit kind="primary">Save</Submit>
        {/* The replay follows the form with scripts. */}
        <noscript>
          <Submit formAction={`${base}/policies/replay#replay`}>Replay</Submit>
        </noscript>
        <ButtonLink to="/policies">Cancel</ButtonLink>
        <p class="small muted">Saving affects new refunds in test and live at once.</p>
      </div>
    </form>
  );
}

/** Fields side by side. */
function Row({ form, fields }: { form: FormState; fields: readonly PolicyField[] }) {
  return (
    <div class="fields">
      {fields.map((field) => (
        <Field key={field.name} form={form} {...field} />
      ))}
    </div>
  );
}

function Field({ form, name, kind, label, hint, choices = [] }: PolicyField & { form: FormState }) {
  const inCurrency = kind === 'amount' && name !== 'maxAmount.amount';
  const unit = inCurrency ? ` (${entered(form.body, 'amountsIn').toUpperCase()})` : '';
  const field = { form, name, label: `${label}${unit}`, hint };
  if (kind === 'list') return <CheckboxesField {...field} choices={choices} />;
  if (kind === 'flag') return <SelectField {...field} choices={choices} />;
  if (kind === 'json') return <JsonField {...field} />;
  const inputMode = ({ amount: 'decimal', number: 'numeric' } as const)[kind as string];
  const maxLength = { text: 100, currencies: 1_000, currency: 3 }[kind as string] ?? 20;
  return <TextField {...field} {...{ inputMode, maxLength }} spellcheck={false} />;
}
