import { canonicalJson } from '../../../../shared/platform/json.ts';
import { digestPolicies } from '../../../../shared/policies/digest.ts';
import { type Policy, policyToRow } from '../../../../shared/policies/policy.ts';
import { policyInWords } from './policy-words.ts';

/** A line of a policy that says something else: what it said, and what it is to say; null where there is no such line. */
export interface ChangedLine {
  name: string;
  was: string | null;
  becomes: string | null;
}

/** What becomes of the policies that hold. Policies are told apart by their names. */
export interface PolicyChanges {
  added: Policy[];
  removed: Policy[];
  changed: { policy: Policy; lines: ChangedLine[] }[];
  /** True when those that stay are asked in another order. */
  isReordered: boolean;
  /** True when the policies that are tried are those that hold. */
  isNothing: boolean;
}

/** Compares two lists of policies, each in the order in which it is asked. */
export function changesBetween(current: readonly Policy[], tried: readonly Policy[]): PolicyChanges {
  const named = (policies: readonly Policy[], name: string) => policies.find((each) => each.name === name);
  const stay = (policies: readonly Policy[], others: readonly Policy[]) =>
    policies.map(({ name }) => name).filter((name) => named(others, name) !== undefined);
  return {
    added: tried.filter(({ name }) => named(current, name) === undefined),
    removed: current.filter(({ name }) => named(tried, name) === undefined),
    changed: tried.flatMap((policy) => {
      const before = named(current, policy.name);
      return before === undefined || isUnchanged(before, policy)
        ? []
        : [{ policy, lines: changedLines(before, policy) }];
    }),
    isReordered: JSON.stringify(stay(current, tried)) !== JSON.stringify(stay(tried, current)),
    isNothing: digestPolicies(current) === digestPolicies(tried),
  };
}

/** True when the rules of two policies are the same, whatever their places. */
export function isSamePolicy(one: Policy, other: Policy): boolean {
  return rulesOf(one) === rulesOf(other);
}

function isUnchanged(before: Policy, after: Policy): boolean {
  return before.priority === after.priority && isSamePolicy(before, after);
}

function rulesOf(policy: Policy): string {
  return canonicalJson(policyToRow(policy).rules);
}

function changedLines(before: Policy, after: Policy): ChangedLine[] {
  const [was, becomes] = [new Map(linesOf(before)), new Map(linesOf(after))];
  return [...new Set([...was.keys(), ...becomes.keys()])]
    .map((name) => ({ name, was: was.get(name) ?? null, becomes: becomes.get(name) ?? null }))
    .filter((line) => line.was !== line.becomes);
}

/** Its place in the order is a line, too: it may become another one while the order stays. */
function linesOf(policy: Policy): [name: string, words: string][] {
  return [['Priority', policy.priority.toString()], ...policyInWords(policy)];
}
