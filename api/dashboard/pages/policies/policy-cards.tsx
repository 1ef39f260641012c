import { countOf } from '#shared/policies/explain.ts';
import type { Policy } from '#shared/policies/policy.ts';
import type { InitiatedBy } from '#shared/refunds/model/reasons.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Facts } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import type { Context } from '../../http/access.ts';
import { inMoney } from '../../words/numbers.ts';
import { processorWord, reasonWords } from '../../words/words.ts';
import { pathOf } from './policy-form.tsx';

export interface PolicyCardsProps {
  context: Context;
  /** In the order in which they are checked. */
  policies: readonly Policy[];
  /** The digest of the policies. */
  basedOn: string;
  isEditable: boolean;
}

/** One card per policy, with what it says and the actions of an admin. */
export function PolicyCards(props: PolicyCardsProps) {
  const { policies, isEditable } = props;
  const catchAll = policies.findIndex(({ match }) => Object.keys(match).length === 0);
  return (
    <ol class="stack">
      {policies.map((policy, index) => (
        <li key={policy.name} class="card stack-tight">
          <div class="spread">
            <div class="row">
              <h2>{policy.name}</h2>
              {catchAll !== -1 && index > catchAll ? <Badge tone="warn">Never applied</Badge> : null}
            </div>
            {isEditable ? <Actions {...props} policy={policy} id={`delete-${index}`} /> : null}
          </div>
          {catchAll !== -1 && index > catchAll ? (
            <p class="small muted">
              “{policies[catchAll]?.name}” applies to every refund and is checked first.
            </p>
          ) : null}
          <Facts facts={linesOf(policy)} />
        </li>
      ))}
    </ol>
  );
}

type ActionsProps = PolicyCardsProps & { policy: Policy; id: string };

function Actions({ context, policies, basedOn, policy: { name }, id }: ActionsProps) {
  return (
    <div class="row">
      <ButtonLink to={pathOf(context, name)}>
        Edit<span class="visually-hidden"> {name}</span>
      </ButtonLink>
      {/* The last policy cannot be deleted. */}
      {policies.length === 1 ? null : (
        <Confirm
          id={id}
          action="Delete"
          title={`Delete “${name}”?`}
          kind="danger"
          context={context}
          to="/policies/delete"
        >
          <input type="hidden" name="basedOn" value={basedOn} />
          <input type="hidden" name="name" value={name} />
          <p>The other policies decide new refunds in test and live. Existing refunds don't change.</p>
        </Confirm>
      )}
    </div>
  );
}

type Line = [name: string, words: string];

/** What a policy says, line by line. */
function linesOf(policy: Policy): Line[] {
  const { priority, finalSale, windowDays } = policy;
  const head: Line[] = [
    ['Priority', priority.toString()],
    ['Applies to', matchInWords(policy)],
  ];
  if (finalSale) return [...head, ['Refunds', 'none (final sale)'], enforcementOf(policy)];
  const limits = limitsOf(policy);
  const approvals = approvalsOf(policy);
  return [
    ...head,
    ['Refunds', windowDays === null ? 'at any time' : `within ${countOf(windowDays, 'day')} of the charge`],
    ...(limits === '' ? [] : ([['Limits', limits]] satisfies Line[])),
    ...(approvals === '' ? [] : ([['Requires approval', approvals]] satisfies Line[])),
    enforcementOf(policy),
  ];
}

function matchInWords({ match }: Policy): string {
  const { processors, currencies, reasons, amount, metadata } = match;
  const conditions = [
    processors?.map(processorWord).join(' or '),
    currencies?.map((code) => code.toUpperCase()).join(' or '),
    reasons?.map((reason) => reasonWords[reason].toLowerCase()).join(' or '),
    amount?.min === undefined ? undefined : `from ${money(amount.min, currencies)}`,
    amount?.max === undefined ? undefined : `up to ${money(amount.max, currencies)}`,
    ...Object.entries(metadata ?? {}).map(([key, value]) => `${key} is ${value}`),
  ];
  return joined(conditions) || 'every refund';
}

function limitsOf({ match: { currencies }, maxPercent, maxAmount, velocity }: Policy): string {
  const { perTransaction, perDay, perRequesterDay } = velocity;
  return joined([
    maxPercent === null ? undefined : `${maxPercent} % of the payment`,
    maxAmount === null ? undefined : `${inMoney(maxAmount.amount, maxAmount.currency)} per payment`,
    perTransaction === undefined ? undefined : `${countOf(perTransaction, 'refund')} per payment`,
    perDay?.count === undefined ? undefined : `${countOf(perDay.count, 'refund')} in 24 hours`,
    perDay?.amount === undefined ? undefined : `${money(perDay.amount, currencies)} in 24 hours`,
    perRequesterDay?.count === undefined
      ? undefined
      : `${countOf(perRequesterDay.count, 'refund')} per requester in 24 hours`,
    perRequesterDay?.amount === undefined
      ? undefined
      : `${money(perRequesterDay.amount, currencies)} per requester in 24 hours`,
  ]);
}

const initiators: Record<InitiatedBy, string> = { api: 'API', dashboard: 'dashboard', mcp: 'agents' };

function approvalsOf({ match, approvalAbove, approvalAbovePerRequesterDay = {} }: Policy): string {
  const inWords = (thresholds: Policy['approvalAbove'], scope: string) =>
    (Object.entries(thresholds) as [InitiatedBy, bigint | null | undefined][]).map(([initiator, amount]) =>
      amount == null
        ? undefined
        : `${initiators[initiator]} above ${money(amount, match.currencies)}${scope}`,
    );
  return joined([
    ...inWords(approvalAbove, ''),
    ...inWords(approvalAbovePerRequesterDay, ' per requester in 24 hours'),
  ]);
}

function enforcementOf({ enforce }: Policy): Line {
  const choosing = ['api', 'dashboard'] as const;
  const wordsFor = (isEnforced: boolean) =>
    choosing.filter((each) => enforce[each] === isEnforced).map((each) => initiators[each]);
  const advisory = wordsFor(false).join(' and ');
  const enforced = `enforced for ${[...wordsFor(true), initiators.mcp].join(', ')}`;
  return ['Denials', advisory === '' ? enforced : `${enforced}; advisory for ${advisory}`];
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(', ');
}

/** A threshold is a number of minor units, so it is a different amount of money in each currency of its policy. */
function money(amount: bigint, currencies: readonly string[] | undefined): string {
  if (amount === 0n) return '0';
  if (currencies === undefined) return `${amount} in minor units`;
  return currencies.map((currency) => inMoney(amount, currency)).join(' or ');
}
