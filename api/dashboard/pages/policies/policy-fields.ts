import { z } from 'zod';
import { type Property, propertiesOf } from '../../components/fields.tsx';
import { type Choices, processorChoices, reasonChoices } from '../../words/words.ts';

/** How the text of a field is read. */
type PolicyFieldKind = 'text' | 'number' | 'amount' | 'currency' | 'currencies' | 'json' | 'flag' | 'list';

function field(kind: PolicyFieldKind, title: string, description?: string, more: object = {}) {
  const hint = description === undefined ? {} : { description };
  return z
    .string()
    .optional()
    .meta({ kind, title, maxLength: 20, ...hint, ...more });
}

const number = (title: string, hint?: string) => field('number', title, hint, { format: 'digits' });
const currency = (title: string, hint: string) => field('currency', title, hint, { maxLength: 3 });

function list(title: string, choices: Choices) {
  const description = 'Leave all unselected to match any.';
  return z.array(z.string()).optional().meta({ kind: 'list', title, description, choices });
}

function flag(title: string, no = 'Not blocked', yes = 'Blocked') {
  return field('flag', title, undefined, { choices: Object.entries({ '': no, yes }) });
}

/** A field for each way to request a refund. */
function bySource(of: (title: string) => z.ZodType) {
  return z.object({ api: of('API'), dashboard: of('Dashboard'), mcp: of('Agents') });
}

const oneRequester = 'A person and the API keys that they created are one requester.';
const ofTotal = "The total of the payment's refunds, including the new one.";
const inAll = 'Across all its refunds.';

/**
 * The form of a policy: its fields are at their paths in the JSON of a policy, except `amountsIn`, the currency of all amounts but
 * `maxAmount`.
 * @param unit the currency that was entered there; empty for none.
 */
export function policyFormSchema(unit: string) {
  const decimal = { format: 'decimal' };
  const amount = (title: string, hint?: string) =>
    field('amount', unit === '' ? title : `${title} (${unit})`, hint, decimal);
  const above = () => bySource((title) => amount(title));
  return z.object({
    name: field('text', 'Name', 'Shown in policy decisions.', { maxLength: 100 }),
    priority: number('Priority', 'Lower numbers are checked first.'),
    amountsIn: currency('Currency of amounts', 'For example USD.'),
    match: z.object({
      processors: list('Processors', processorChoices),
      reasons: list('Reasons', reasonChoices),
      currencies: field(
        'currencies',
        'Payment currencies',
        'For example USD, EUR. If empty, amounts apply to every currency in its minor unit: 50.00 USD equals 5000 JPY.',
        { maxLength: 1_000 },
      ),
      amount: z.object({
        min: amount('Minimum refunded amount', ofTotal),
        max: amount('Maximum refunded amount', ofTotal),
      }),
      metadata: field(
        'json',
        'Metadata (JSON)',
        'The refund must have exactly these values, for example {"category": "gift_card", "vip": true}.',
        { type: 'object' },
      ),
    }),
    finalSale: flag('Final sale', 'No', 'Yes, no refunds'),
    windowDays: number('Refund window (days)', 'Days of 24 hours, counted from the charge.'),
    maxPercent: number('Maximum share of a payment (%)', inAll),
    maxAmount: z.object({
      amount: field('amount', 'Maximum amount per payment', inAll, decimal),
      currency: currency(
        'Currency of that amount',
        'The maximum is ignored for payments in other currencies.',
      ),
    }),
    velocity: z.object({
      perTransaction: number('Maximum refunds per payment'),
      perDay: z.object({
        count: number('Maximum refunds in 24 hours', 'Across the organization.'),
        amount: amount('Maximum amount in 24 hours', "Across the organization, in the payment's currency."),
      }),
      perRequesterDay: z.object({
        count: number('Maximum refunds per requester in 24 hours', oneRequester),
        amount: amount('Maximum amount per requester in 24 hours', "In the payment's currency."),
      }),
    }),
    approvalAbove: above(),
    approvalAbovePerRequesterDay: above(),
    holdSeconds: bySource((title) => number(title)),
    enforce: z.object({ api: flag('API'), dashboard: flag('Dashboard') }),
  });
}

const sources = (name: string) => ['api', 'dashboard', 'mcp'].map((source) => `${name}.${source}`);

/** The fields above the groups. */
export const firstFields = ['name', 'priority', 'amountsIn'];

/** What is added at once: a field, or several side by side. */
export interface FieldRow {
  title: string;
  /** Of several fields with short labels. */
  note?: string;
  fields: readonly string[];
}

/** Rows under a title, each added when it is needed. */
export const fieldGroups: readonly { legend: string; note: string; add: string; rows: FieldRow[] }[] = [
  {
    legend: 'Applies to',
    note: 'All conditions must match; without any, the policy applies to every refund. The requester chooses the reason and the metadata, so a policy that matches on them should not allow more than the others.',
    add: 'Add a condition',
    rows: [
      { title: 'Processors', fields: ['match.processors'] },
      { title: 'Reasons', fields: ['match.reasons'] },
      { title: 'Payment currencies', fields: ['match.currencies'] },
      { title: 'Refunded amount', fields: ['match.amount.min', 'match.amount.max'] },
      { title: 'Metadata', fields: ['match.metadata'] },
    ],
  },
  {
    legend: 'Limits',
    note: 'A limit that is left empty is not set.',
    add: 'Add a limit',
    rows: [
      { title: 'Refund window', fields: ['windowDays'] },
      { title: 'Final sale', fields: ['finalSale'] },
      { title: 'Share of a payment', fields: ['maxPercent'] },
      { title: 'Amount per payment', fields: ['maxAmount.amount', 'maxAmount.currency'] },
      { title: 'Refunds per payment', fields: ['velocity.perTransaction'] },
      { title: 'In 24 hours', fields: ['velocity.perDay.count', 'velocity.perDay.amount'] },
      {
        title: 'Per requester in 24 hours',
        fields: ['velocity.perRequesterDay.count', 'velocity.perRequesterDay.amount'],
      },
    ],
  },
  {
    legend: 'By who requests',
    note: 'Separately for the API, the dashboard and agents.',
    add: 'Add an approval, a hold or a block',
    rows: [
      {
        title: 'Approval above',
        note: "When the payment's refunds, including this one, exceed the amount. Enter 0 for all refunds.",
        fields: sources('approvalAbove'),
      },
      {
        title: 'Approval per requester above',
        note: `When all refunds of the requester in 24 hours, including this one, exceed the amount. ${oneRequester}`,
        fields: sources('approvalAbovePerRequesterDay'),
      },
      {
        title: 'Hold before sending (seconds)',
        note: 'Up to 3600, from its creation or approval. A held refund can still be undone.',
        fields: sources('holdSeconds'),
      },
      {
        title: 'Denied refunds',
        note: 'A denied refund that is not blocked is created anyway. Those of agents are always blocked.',
        fields: ['enforce.api', 'enforce.dashboard'],
      },
    ],
  },
];

export interface PolicyField {
  /** Its path. */
  name: string;
  kind: PolicyFieldKind;
  label: string | undefined;
}

/** All fields of the form. */
export const policyFields: readonly PolicyField[] = Object.entries(propertiesOf(policyFormSchema(''))).map(
  ([name, property]) => {
    const row = fieldGroups.flatMap(({ rows }) => rows).find(({ fields }) => fields.includes(name));
    return {
      name,
      label: row?.note === undefined ? property.title : `${row.title}, ${property.title}`,
      kind: (property as Property & { kind: PolicyFieldKind }).kind,
    };
  },
);
