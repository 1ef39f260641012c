import { canonicalJson } from '../../../../shared/canonical-json.ts';
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
      return before === undefined || isSamePolicy(before, policy)
        ? []
        : [{ policy, lines: changedLines(before, policy) }];
    }),
    isReordered: JSON.stringify(stay(current, tried)) !== JSON.stringify(stay(tried, current)),
  };
}

/** True when the rules of two policies are the same, whatever their places. */
export function isSamePolicy(one: Policy, other: Policy): boolean {
  return rulesOf(one) === rulesOf(other);
}

function rulesOf(policy: Policy): string {
  return canonicalJson(policyToRow(policy).rules);
}

function changedLines(before: Policy, after: Policy): ChangedLine[] {
  const [was, becomes] = [new Map(policyInWords(before)), new Map(policyInWords(after))];
  return [...new Set([...was.keys(), ...becomes.keys()])]
    .map((name) => ({ name, was: was.get(name) ?? null, becomes: becomes.get(name) ?? null }))
    .filter((line) => line.was !== line.becomes);
}
