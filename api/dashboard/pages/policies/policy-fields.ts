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
function bySource(of: (title: string) => z.ZodType, words: string) {
  return z.object({
    api: of(`API, ${words}`),
    dashboard: of(`Dashboard, ${words}`),
    mcp: of(`Agents, ${words}`),
  });
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
  const above = () => bySource((title) => amount(title), 'above');
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
    holdSeconds: bySource((title) => number(title), 'for seconds'),
    enforce: z.object({ api: flag('By API'), dashboard: flag('In the dashboard') }),
  });
}

/** The fields above the groups. */
export const firstFields = ['name', 'priority', 'amountsIn'];

const sources = (name: string) => ['api', 'dashboard', 'mcp'].map((source) => `${name}.${source}`);

/** Fields under a title, in rows. */
export const fieldGroups: readonly { legend: string; note: string; rows: string[][] }[] = [
  {
    legend: 'Applies to',
    note: 'All conditions must match; without any, the policy applies to every refund. The requester chooses the reason and the metadata, so a policy that matches on them should not allow more than the others.',
    rows: [
      ['match.processors'],
      ['match.reasons'],
      ['match.currencies'],
      ['match.amount.min', 'match.amount.max'],
      ['match.metadata'],
    ],
  },
  {
    legend: 'Limits',
    note: 'An empty field means no limit.',
    rows: [
      ['finalSale', 'windowDays', 'maxPercent'],
      ['maxAmount.amount', 'maxAmount.currency'],
      ['velocity.perTransaction', 'velocity.perDay.count', 'velocity.perDay.amount'],
      ['velocity.perRequesterDay.count', 'velocity.perRequesterDay.amount'],
    ],
  },
  {
    legend: 'Approval',
    note: "A refund requires approval when the payment's refunds, including this one, exceed the amount. Enter 0 for all refunds, or leave empty for none.",
    rows: [sources('approvalAbove')],
  },
  {
    legend: 'Approval per requester',
    note: `A refund also requires approval when all refunds of its requester in 24 hours, including this one, exceed the amount. ${oneRequester}`,
    rows: [sources('approvalAbovePerRequesterDay')],
  },
  {
    legend: 'Hold before sending',
    note: 'A held refund can still be undone. Enter up to 3600 seconds from its creation or approval, or leave empty to send it at once.',
    rows: [sources('holdSeconds')],
  },
  {
    legend: 'Denied refunds',
    note: 'A denied refund that is not blocked is created anyway. Those requested by agents or with agent keys are always blocked.',
    rows: [['enforce.api', 'enforce.dashboard']],
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
  ([name, property]) => ({
    ...{ name, label: property.title },
    kind: (property as Property & { kind: PolicyFieldKind }).kind,
  }),
);
