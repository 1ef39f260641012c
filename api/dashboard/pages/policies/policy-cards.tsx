import { countOf, holdInWords } from '#shared/policies/explain.ts';
import type { Policy } from '#shared/policies/policy.ts';
import { blocksNothing, canDeny } from '#shared/policies/policy-file.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import type { InitiatedBy } from '#shared/refund-request/reasons.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { inMoney } from '../../words/numbers.ts';
import { reasonWords } from '../../words/words.ts';
import { pathOf } from './policy-form.tsx';

interface PolicyCardsProps {
  /** In the order in which they are checked. */
  policies: readonly Policy[];
  /** The digest of the policies. */
  basedOn: string;
  isEditable: boolean;
}

/** The ways to request a refund, in words. */
export const initiators: Readonly<Record<InitiatedBy, string>> = {
  api: 'by API',
  dashboard: 'in the dashboard',
  mcp: 'by agents',
};

/** One card per policy, with what it says in sentences and the actions of an admin. */
export function PolicyCards(props: PolicyCardsProps) {
  const { policies, isEditable } = props;
  const catchAll = policies.findIndex(({ match }) => Object.keys(match).length === 0);
  const isNeverApplied = (index: number) => catchAll !== -1 && index > catchAll;
  return (
    <>
      {blocksNothing(policies) ? (
        <Notice tone="warn">
          <strong>Nothing is blocked by API or in the dashboard.</strong> Refunds that these policies deny are
          created anyway. {isEditable ? 'Choose Block on a policy to change that.' : null}
        </Notice>
      ) : null}
      <ol class="stack">
        {policies.map((policy, index) => (
          <li key={policy.name} class="card stack-tight">
            <div class="spread">
              <div class="row">
                <h2>{policy.name}</h2>
                {isNeverApplied(index) && <Badge tone="warn">Never applied</Badge>}
              </div>
              {isEditable ? <Actions {...props} policy={policy} id={`delete-${index}`} /> : null}
            </div>
            {isNeverApplied(index) && (
              <p class="small muted">
                “<bdi>{policies[catchAll]?.name}</bdi>” applies to every refund and is checked first.
              </p>
            )}
            <ul>
              {sentencesOf(policy).map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
            {isEditable ? <BlockLinks policy={policy} /> : null}
          </li>
        ))}
      </ol>
    </>
  );
}

type ActionsProps = PolicyCardsProps & { policy: Policy; id: string };

function Actions({ policies, basedOn, policy: { name }, id }: ActionsProps) {
  return (
    <div class="row">
      <ButtonLink to={pathOf(name)}>
        Edit<span class="visually-hidden"> {name}</span>
      </ButtonLink>
      {/* The last policy cannot be deleted. */}
      {policies.length === 1 ? null : (
        <Confirm
          {...{ id, action: 'Delete', title: `Delete “${name}”?`, kind: 'danger' }}
          to="/policies/delete"
          values={{ basedOn, name }}
        >
          <p>The other policies decide new refunds in test and live. Existing refunds don't change.</p>
        </Confirm>
      )}
    </div>
  );
}

/** Leads to the form with the denials of a policy binding, for each way in which they are not. */
function BlockLinks({ policy }: { policy: Policy }) {
  const { name, enforce } = policy;
  const open = (['api', 'dashboard'] as const).filter((each) => !enforce[each]);
  if (open.length === 0 || !canDeny(policy)) return null;
  return (
    <div class="row">
      {open.map((initiator) => (
        <ButtonLink key={initiator} to={`${pathOf(name)}&block=${initiator}`}>
          Block {initiators[initiator]}
        </ButtonLink>
      ))}
    </div>
  );
}

/** What a policy says. */
function sentencesOf(policy: Policy): string[] {
  const { priority, finalSale, windowDays, match, approvalAbove, approvalAbovePerRequesterDay } = policy;
  const { currencies } = match;
  const matches = `Applies to ${matchInWords(policy)} (priority ${priority}).`;
  if (finalSale) return [matches, 'Final sale: no refunds.', ...holdsOf(policy), ...blockingOf(policy)];
  const window = windowDays === null ? 'at any time' : `within ${countOf(windowDays, 'day')} of the charge`;
  const limits = joined(limitsOf(policy));
  return [
    matches,
    `Refunds ${window}${limits === '' ? '' : `, at most ${limits}`}.`,
    ...amountsOf(approvalAbove).map(([initiator, amount]) =>
      amount === 0n
        ? `Every refund ${initiators[initiator]} requires approval.`
        : `Refunds above ${money(amount, currencies)} ${initiators[initiator]} require approval.`,
    ),
    ...amountsOf(approvalAbovePerRequesterDay).map(
      ([initiator, amount]) =>
        `Refunds ${initiators[initiator]} require approval once those of their requester come to more than ${money(amount, currencies)} in 24 hours.`,
    ),
    ...holdsOf(policy),
    ...blockingOf(policy),
  ];
}

function holdsOf({ holdSeconds = {} }: Policy): string[] {
  const entries = Object.entries(holdSeconds) as [InitiatedBy, number | null | undefined][];
  return entries.flatMap(([initiator, seconds]) =>
    seconds
      ? [`Refunds ${initiators[initiator]} are held for ${holdInWords(seconds)} before they are sent.`]
      : [],
  );
}

function amountsOf(thresholds: Policy['approvalAbovePerRequesterDay'] = {}): [InitiatedBy, bigint][] {
  const entries = Object.entries(thresholds) as [InitiatedBy, bigint | null | undefined][];
  return entries.flatMap(([initiator, amount]) => (amount == null ? [] : [[initiator, amount]]));
}

function matchInWords({ match }: Policy): string {
  const { processors, currencies, reasons, amount, metadata } = match;
  const conditions = [
    processors?.map(displayNameOf).join(' or '),
    currencies?.map((code) => code.toUpperCase()).join(' or '),
    reasons?.map((reason) => reasonWords[reason].toLowerCase()).join(' or '),
    amount?.min === undefined ? undefined : `from ${money(amount.min, currencies)}`,
    amount?.max === undefined ? undefined : `up to ${money(amount.max, currencies)}`,
    ...Object.entries(metadata ?? {}).map(([key, value]) => `${key} is ${value}`),
  ];
  const words = joined(conditions);
  return words === '' ? 'every refund' : `refunds with: ${words}`;
}

function limitsOf({ match: { currencies }, maxPercent, maxAmount, velocity }: Policy) {
  const { perTransaction, perDay, perRequesterDay } = velocity;
  const days = [
    [perDay, 'in 24 hours'],
    [perRequesterDay, 'per requester in 24 hours'],
  ] as const;
  return [
    maxPercent === null ? undefined : `${maxPercent}% of the payment`,
    maxAmount === null ? undefined : `${inMoney(maxAmount.amount, maxAmount.currency)} per payment`,
    perTransaction === undefined ? undefined : `${countOf(perTransaction, 'refund')} per payment`,
    ...days.flatMap(([limit, scope]) => [
      limit?.count === undefined ? undefined : `${countOf(limit.count, 'refund')} ${scope}`,
      limit?.amount === undefined ? undefined : `${money(limit.amount, currencies)} ${scope}`,
    ]),
  ];
}

const either = new Intl.ListFormat('en-GB', { type: 'disjunction' });

function blockingOf(policy: Policy): string[] {
  if (!canDeny(policy)) return [];
  const { api, dashboard } = policy.enforce;
  const isBlocked: [InitiatedBy, boolean][] = [
    ['api', api],
    ['dashboard', dashboard],
    ['mcp', true],
  ];
  const wordsFor = (wanted: boolean) =>
    isBlocked.flatMap(([initiator, blocks]) => (blocks === wanted ? [initiators[initiator]] : []));
  const open = wordsFor(false).join(' or ');
  const blocked = `Denied refunds are blocked when requested ${either.format(wordsFor(true))}`;
  return [open === '' ? `${blocked}.` : `${blocked}, but not ${open}.`];
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(', ');
}

/** A threshold is a number of minor units, so it is a different amount of money in each currency of its policy. */
function money(amount: bigint, currencies: readonly string[] | undefined): string {
  if (amount === 0n) return '0';
  if (currencies === undefined)
    return `${inMoney(amount, 'usd')}, or ${inMoney(amount, 'jpy')} where a currency has no decimals`;
  return currencies.map((currency) => inMoney(amount, currency)).join(' or ');
}
