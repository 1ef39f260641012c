import { countOf } from '../../../../shared/policies/explain.ts';
import type { Policy } from '../../../../shared/policies/policy.ts';
import type { InitiatedBy } from '../../../../shared/refunds/model/reasons.ts';
import { inMoney } from '../../layout/numbers.ts';
import { processorWord, reasonWords } from '../../layout/words.ts';

/** Who asks for refunds, in the middle of a sentence. */
const asked: Record<InitiatedBy, string> = { api: 'the API', dashboard: 'people', mcp: 'agents' };

function matchInWords({ match }: Policy): string {
  const { processors, currencies, reasons, amount, metadata } = match;
  const words = [
    processors?.map(processorWord).join(' or '),
    currencies?.map((code) => code.toUpperCase()).join(' or '),
    reasons?.map((reason) => reasonWords[reason].toLowerCase()).join(' or '),
    amount?.min === undefined ? undefined : `from ${money(amount.min, currencies)}`,
    amount?.max === undefined ? undefined : `up to ${money(amount.max, currencies)}`,
    ...Object.entries(metadata ?? {}).map(([key, value]) => `${key} is ${value}`),
  ].filter((word) => word !== undefined);
  return words.length === 0 ? 'every refund' : words.join(', ');
}

/** What a policy is for and what it says, line by line: the name of a line, and what stands in it. */
export function policyInWords(policy: Policy): [name: string, words: string][] {
  return [['For', matchInWords(policy)], ...rulesInWords(policy)];
}

function rulesInWords(policy: Policy): [name: string, words: string][] {
  if (policy.finalSale) return [['Refunds', 'none: final sale'], ...enforcement(policy)];
  const { windowDays, maxPercent, maxAmount, velocity } = policy;
  const { currencies } = policy.match;
  const { perTransaction, perDay } = velocity;
  const limits = [
    maxPercent === null ? undefined : `${maxPercent} % of the payment`,
    maxAmount === null ? undefined : inMoney(maxAmount.amount, maxAmount.currency),
    perTransaction === undefined ? undefined : `${countOf(perTransaction, 'refund')} of a payment`,
    perDay?.count === undefined ? undefined : `${countOf(perDay.count, 'refund')} in 24 hours`,
    perDay?.amount === undefined ? undefined : `${money(perDay.amount, currencies)} in 24 hours`,
  ].filter((limit) => limit !== undefined);
  const approvals = Object.entries(policy.approvalAbove)
    .filter(([, amount]) => amount !== null && amount !== undefined)
    .map(
      ([initiator, amount]) => `${asked[initiator as InitiatedBy]} above ${money(amount ?? 0n, currencies)}`,
    );
  return [
    ['Refunds', windowDays === null ? 'at any time' : `within ${countOf(windowDays, 'day')} of the charge`],
    ...(limits.length === 0 ? [] : [['At most', limits.join(', ')] satisfies [string, string]]),
    ...(approvals.length === 0
      ? []
      : [['Waits for approval', approvals.join(', ')] satisfies [string, string]]),
    ...enforcement(policy),
  ];
}

const inList = new Intl.ListFormat('en-GB');

function enforcement({ enforce }: Policy): [string, string][] {
  const choosing = ['api', 'dashboard'] as const;
  const bound = [...choosing.filter((initiator) => enforce[initiator]), 'mcp' as const].map(
    (each) => asked[each],
  );
  const advised = choosing.filter((initiator) => !enforce[initiator]).map((each) => asked[each]);
  const advice = advised.length === 0 ? '' : `; advice for ${inList.format(advised)}`;
  return [['A denial', `stops ${inList.format(bound)}${advice}`]];
}

/** A threshold is a bare number of the smallest unit, so it is another amount of money in each currency of its policy. */
function money(amount: bigint, currencies: readonly string[] | undefined): string {
  if (amount === 0n) return '0';
  if (currencies === undefined) return `${amount} in the smallest unit`;
  return currencies.map((currency) => inMoney(amount, currency)).join(' or ');
}
