import type { ComponentChildren } from 'preact';
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
import type { Context } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { processorChoices, reasonChoices } from '../../words/words.ts';
import { type EnteredPolicy, fieldKinds, type PolicyField } from './entered-policy.ts';

const requesterHint = 'A person and the API keys that they created are one requester.';

/** The label and hint of each field; for a yes-or-no question, also the answers in this order: no, yes. */
const words: Record<PolicyField, { label: string; hint?: string; answers?: [no: string, yes: string] }> = {
  name: { label: 'Name', hint: 'Shown in policy decisions.' },
  priority: { label: 'Priority', hint: 'Lower numbers are checked first.' },
  amountsIn: { label: 'Currency of amounts', hint: 'For example USD.' },
  'match.currencies': {
    label: 'Payment currencies',
    hint: 'For example USD, EUR. If empty, amounts apply to every currency in its minor unit: 50.00 USD equals 5000 JPY.',
  },
  'match.amount.min': {
    label: 'Minimum refunded amount',
    hint: "The total of the payment's refunds, including the new one.",
  },
  'match.amount.max': {
    label: 'Maximum refunded amount',
    hint: "The total of the payment's refunds, including the new one.",
  },
  'match.metadata': {
    label: 'Metadata (JSON)',
    hint: 'The refund must have exactly these values, for example {"category": "gift_card", "vip": true}.',
  },
  finalSale: { label: 'Final sale', answers: ['No', 'Yes, no refunds'] },
  windowDays: { label: 'Refund window (days)', hint: 'Days of 24 hours, counted from the charge.' },
  maxPercent: { label: 'Maximum share of a payment (%)', hint: 'Across all its refunds.' },
  'maxAmount.amount': { label: 'Maximum amount per payment', hint: 'Across all its refunds.' },
  'maxAmount.currency': {
    label: 'Currency of that amount',
    hint: 'The maximum is ignored for payments in other currencies.',
  },
  'velocity.perTransaction': { label: 'Maximum refunds per payment' },
  'velocity.perDay.count': { label: 'Maximum refunds in 24 hours', hint: 'Across the organization.' },
  'velocity.perDay.amount': {
    label: 'Maximum amount in 24 hours',
    hint: "Across the organization, in the payment's currency.",
  },
  'velocity.perRequesterDay.count': {
    label: 'Maximum refunds per requester in 24 hours',
    hint: requesterHint,
  },
  'velocity.perRequesterDay.amount': {
    label: 'Maximum amount per requester in 24 hours',
    hint: "In the payment's currency.",
  },
  'approvalAbove.api': { label: 'API, above' },
  'approvalAbove.dashboard': { label: 'Dashboard, above' },
  'approvalAbove.mcp': { label: 'Agents, above' },
  'approvalAbovePerRequesterDay.api': { label: 'API, above' },
  'approvalAbovePerRequesterDay.dashboard': { label: 'Dashboard, above' },
  'approvalAbovePerRequesterDay.mcp': { label: 'Agents, above' },
  'holdSeconds.api': { label: 'API, for seconds' },
  'holdSeconds.dashboard': { label: 'Dashboard, for seconds' },
  'holdSeconds.mcp': { label: 'Agents, for seconds' },
  'enforce.api': { label: 'By API', answers: ['Not blocked', 'Blocked'] },
  'enforce.dashboard': { label: 'In the dashboard', answers: ['Not blocked', 'Blocked'] },
};

export interface PolicyFormProps {
  context: Context;
  /** The digest of the policies that were stored when the form was opened. */
  basedOn: string;
  /** The name of the policy that the form edits; the empty text for a new one. */
  replaces: string;
  policy: EnteredPolicy;
  problems?: FormProblems;
  /** True after a concurrent change: the form can only be reloaded. */
  isStale?: boolean;
}

/** The address of the form of a policy; of a new one for the empty text. */
export function pathOf({ base }: Context, name: string): string {
  return `${base}/policies/${name === '' ? 'new' : `edit?name=${encodeURIComponent(name)}`}`;
}

const anyHint = 'Leave all unselected to match any.';

/** The form of one policy. */
export function PolicyForm(props: PolicyFormProps) {
  const { context, basedOn, replaces, policy, problems = {}, isStale = false } = props;
  const form = { body: policy, problems };
  const hasFieldProblem = Object.keys(problems).some((field) => field !== 'form');
  return (
    <form method="post" action={`${context.base}/policies`} class="card stack" noValidate>
      <CsrfField token={context.csrfToken} />
      <input type="hidden" name="basedOn" value={basedOn} />
      <input type="hidden" name="replaces" value={replaces} />
      <FormNotice problems={problems} />
      {isStale ? (
        <div>
          <ButtonLink to={pathOf(context, replaces)}>Reload</ButtonLink>
        </div>
      ) : null}
      {hasFieldProblem ? <Notice tone="bad">Fix the highlighted fields.</Notice> : null}
      <Fields form={form} names={['name', 'priority', 'amountsIn']} />
      <Conditions form={form} />
      <Limits form={form} />
      <Approvals form={form} />
      <Group
        legend="Hold before sending"
        note="A refund can be undone for certain while it is held, up to 3600 seconds after it is created or approved. An empty field means that it is sent at once."
      >
        <Fields form={form} names={['holdSeconds.api', 'holdSeconds.dashboard', 'holdSeconds.mcp']} />
      </Group>
      <Group
        legend="Refunds that the policy denies"
        note="Not blocked means that they are created all the same. By agents and with agent keys they are always blocked."
      >
        <Fields form={form} names={['enforce.api', 'enforce.dashboard']} />
      </Group>
      <div class="row">
        <Submit kind="primary">Save</Submit>
        <Submit formAction={`${context.base}/policies/replay#replay`}>Replay</Submit>
        <ButtonLink to={`${context.base}/policies`}>Cancel</ButtonLink>
      </div>
      <p class="small muted">
        Saving affects new refunds in test and live at once. Replay shows what the policy would have decided
        about the {context.environment} refunds of the last 90 days, and saves nothing.
      </p>
    </form>
  );
}

function Conditions({ form }: { form: FormState }) {
  return (
    <Group
      legend="Applies to"
      note="All conditions must match; without any, the policy applies to every refund. The requester chooses the reason and the metadata, so a policy that matches on them should not allow more than the others."
    >
      <CheckboxesField
        form={form}
        name="match.processors"
        label="Processors"
        hint={anyHint}
        choices={processorChoices}
      />
      <CheckboxesField
        form={form}
        name="match.reasons"
        label="Reasons"
        hint={anyHint}
        choices={reasonChoices}
      />
      <Fields form={form} names={['match.currencies']} />
      <Fields form={form} names={['match.amount.min', 'match.amount.max']} />
      <Fields form={form} names={['match.metadata']} />
    </Group>
  );
}

function Limits({ form }: { form: FormState }) {
  return (
    <Group legend="Limits" note="An empty field means no limit.">
      <Fields form={form} names={['finalSale', 'windowDays', 'maxPercent']} />
      <Fields form={form} names={['maxAmount.amount', 'maxAmount.currency']} />
      <Fields
        form={form}
        names={['velocity.perTransaction', 'velocity.perDay.count', 'velocity.perDay.amount']}
      />
      <Fields form={form} names={['velocity.perRequesterDay.count', 'velocity.perRequesterDay.amount']} />
    </Group>
  );
}

function Approvals({ form }: { form: FormState }) {
  return (
    <>
      <Group
        legend="Approval"
        note="A refund requires approval when the payment's refunds, including this one, exceed the amount. Enter 0 for all refunds, or leave empty for none."
      >
        <Fields form={form} names={['approvalAbove.api', 'approvalAbove.dashboard', 'approvalAbove.mcp']} />
      </Group>
      <Group
        legend="Approval per requester"
        note={`A refund also requires approval when all refunds of its requester in 24 hours, including this one, exceed the amount. ${requesterHint}`}
      >
        <Fields
          form={form}
          names={[
            'approvalAbovePerRequesterDay.api',
            'approvalAbovePerRequesterDay.dashboard',
            'approvalAbovePerRequesterDay.mcp',
          ]}
        />
      </Group>
    </>
  );
}

/** Fields side by side. */
function Fields({ form, names }: { form: FormState; names: readonly PolicyField[] }) {
  return (
    <div class="fields">
      {names.map((name) => (
        <OneField key={name} form={form} name={name} />
      ))}
    </div>
  );
}

function OneField({ form, name }: { form: FormState; name: PolicyField }) {
  const { label, hint, answers } = words[name];
  const kind = fieldKinds[name];
  const inCurrency = kind === 'amount' && name !== 'maxAmount.amount';
  const unit = inCurrency ? ` (${entered(form.body, 'amountsIn').toUpperCase()})` : '';
  const field = { form, name, label: `${label}${unit}`, hint };
  if (answers !== undefined) {
    const [no, yes] = answers;
    return (
      <SelectField
        {...field}
        choices={[
          ['', no],
          ['yes', yes],
        ]}
      />
    );
  }
  if (kind === 'json') return <JsonField {...field} />;
  const inputMode = ({ amount: 'decimal', number: 'numeric' } as const)[kind as string];
  const maxLength = { text: 100, currencies: 1_000, currency: 3 }[kind as string] ?? 20;
  return <TextField {...field} {...{ inputMode, maxLength }} spellcheck={false} />;
}

function Group({ legend, note, children }: { legend: string; note: string; children: ComponentChildren }) {
  return (
    <fieldset class="stack field-group">
      <legend>{legend}</legend>
      <p class="small muted">{note}</p>
      {children}
    </fieldset>
  );
}
