import { type Choices, processorChoices, reasonChoices } from '../../words/words.ts';

export interface PolicyField {
  /** Its path in the JSON of a policy, except `amountsIn`, the currency of all amounts but `maxAmount`. */
  name: string;
  kind: 'text' | 'number' | 'amount' | 'currency' | 'currencies' | 'json' | 'flag' | 'list';
  label: string;
  hint?: string | undefined;
  /** Of a list, and the answers to a flag. */
  choices?: Choices;
}

const fieldOf = (kind: PolicyField['kind']) => (name: string, label: string, hint?: string) =>
  ({ name, kind, label, hint }) as PolicyField;
const number = fieldOf('number');
const amount = fieldOf('amount');
const currency = fieldOf('currency');

function list(name: string, label: string, choices: Choices): PolicyField {
  return { name, kind: 'list', label, hint: 'Leave all unselected to match any.', choices };
}

function flag(name: string, label: string, no = 'Not blocked', yes = 'Blocked'): PolicyField {
  const choices = Object.entries({ '': no, yes });
  return { name, kind: 'flag', label, choices };
}

/** A field for each way to request a refund. */
function bySource(kind: PolicyField['kind'], name: string, words: string): PolicyField[] {
  const sources = Object.entries({ api: 'API', dashboard: 'Dashboard', mcp: 'Agents' });
  return sources.map(([source, label]) => ({ name: `${name}.${source}`, kind, label: `${label}, ${words}` }));
}

/** The fields above the groups. */
export const firstFields: readonly PolicyField[] = [
  fieldOf('text')('name', 'Name', 'Shown in policy decisions.'),
  number('priority', 'Priority', 'Lower numbers are checked first.'),
  currency('amountsIn', 'Currency of amounts', 'For example USD.'),
];

const oneRequester = 'A person and the API keys that they created are one requester.';
const ofTotal = "The total of the payment's refunds, including the new one.";
const inAll = 'Across all its refunds.';

/** Fields under a title, in rows. */
export const fieldGroups: readonly { legend: string; note: string; rows: PolicyField[][] }[] = [
  {
    legend: 'Applies to',
    note: 'All conditions must match; without any, the policy applies to every refund. The requester chooses the reason and the metadata, so a policy that matches on them should not allow more than the others.',
    rows: [
      [list('match.processors', 'Processors', processorChoices)],
      [list('match.reasons', 'Reasons', reasonChoices)],
      [
        fieldOf('currencies')(
          'match.currencies',
          'Payment currencies',
          'For example USD, EUR. If empty, amounts apply to every currency in its minor unit: 50.00 USD equals 5000 JPY.',
        ),
      ],
      [
        amount('match.amount.min', 'Minimum refunded amount', ofTotal),
        amount('match.amount.max', 'Maximum refunded amount', ofTotal),
      ],
      [
        fieldOf('json')(
          'match.metadata',
          'Metadata (JSON)',
          'The refund must have exactly these values, for example {"category": "gift_card", "vip": true}.',
        ),
      ],
    ],
  },
  {
    legend: 'Limits',
    note: 'An empty field means no limit.',
    rows: [
      [
        flag('finalSale', 'Final sale', 'No', 'Yes, no refunds'),
        number('windowDays', 'Refund window (days)', 'Days of 24 hours, counted from the charge.'),
        number('maxPercent', 'Maximum share of a payment (%)', inAll),
      ],
      [
        amount('maxAmount.amount', 'Maximum amount per payment', inAll),
        currency(
          'maxAmount.currency',
          'Currency of that amount',
          'The maximum is ignored for payments in other currencies.',
        ),
      ],
      [
        number('velocity.perTransaction', 'Maximum refunds per payment'),
        number('velocity.perDay.count', 'Maximum refunds in 24 hours', 'Across the organization.'),
        amount(
          'velocity.perDay.amount',
          'Maximum amount in 24 hours',
          "Across the organization, in the payment's currency.",
        ),
      ],
      [
        number('velocity.perRequesterDay.count', 'Maximum refunds per requester in 24 hours', oneRequester),
        amount(
          'velocity.perRequesterDay.amount',
          'Maximum amount per requester in 24 hours',
          "In the payment's currency.",
        ),
      ],
    ],
  },
  {
    legend: 'Approval',
    note: "A refund requires approval when the payment's refunds, including this one, exceed the amount. Enter 0 for all refunds, or leave empty for none.",
    rows: [bySource('amount', 'approvalAbove', 'above')],
  },
  {
    legend: 'Approval per requester',
    note: `A refund also requires approval when all refunds of its requester in 24 hours, including this one, exceed the amount. ${oneRequester}`,
    rows: [bySource('amount', 'approvalAbovePerRequesterDay', 'above')],
  },
  {
    legend: 'Hold before sending',
    note: 'A held refund can still be undone. Enter up to 3600 seconds from its creation or approval, or leave empty to send it at once.',
    rows: [bySource('number', 'holdSeconds', 'for seconds')],
  },
  {
    legend: 'Denied refunds',
    note: 'A denied refund that is not blocked is created anyway. Those requested by agents or with agent keys are always blocked.',
    rows: [[flag('enforce.api', 'By API'), flag('enforce.dashboard', 'In the dashboard')]],
  },
];

/** All fields of the form. */
export const policyFields = [...firstFields, ...fieldGroups.flatMap(({ rows }) => rows.flat())];
