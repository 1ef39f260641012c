import { highestPriority } from '../../../../shared/policies/policy.ts';
import { type EnteredPolicy, emptyPolicy } from './entered-policy.ts';

/** What can be done to a list of policies, besides writing into their fields. */
export const stepNames = ['add', 'up', 'down', 'remove', 'metadata'] as const;
export type StepName = (typeof stepNames)[number];

/** A step, and the place in the list of the policy that it is about. */
export interface Step {
  name: StepName;
  at: number;
}

/** The step that a button of the form names, such as `up.2`; null when it names none. */
export function readStep(text: string): Step | null {
  const [, word, at] = /^([a-z]+)\.(\d{1,4})$/.exec(text) ?? [];
  const name = stepNames.find((each) => each === word);
  return name === undefined ? null : { name, at: Number(at) };
}

/** The list after a step, and where the policy is then that it was about. One that is not there changes nothing. */
export function takeStep(
  policies: readonly EnteredPolicy[],
  { name, at }: Step,
): { policies: readonly EnteredPolicy[]; at: number } {
  switch (name) {
    // Before all others: behind one that is for every refund it would never be asked.
    case 'add':
      return { policies: settled([newPolicy(policies[0]), ...policies]), at: 0 };
    case 'remove':
      return { policies: policies.filter((_, index) => index !== at), at };
    case 'up':
      return { policies: swapped(policies, at - 1), at: Math.max(0, at - 1) };
    case 'down':
      return { policies: swapped(policies, at), at: Math.min(policies.length - 1, at + 1) };
    case 'metadata':
      return { policies, at };
  }
}

function newPolicy(first: EnteredPolicy | undefined): EnteredPolicy {
  const priority = first === undefined ? 10 : Math.max(0, priorityOf(first) - 1);
  return withPriority(emptyPolicy, String(priority));
}

/** Has a policy and the next one take each other's place, and each other's priority. */
function swapped(policies: readonly EnteredPolicy[], at: number): readonly EnteredPolicy[] {
  const [one, other] = [policies[at], policies[at + 1]];
  if (one === undefined || other === undefined) return policies;
  const exchanged = [withPriority(other, one.texts.priority), withPriority(one, other.texts.priority)];
  return settled(policies.toSpliced(at, 2, ...exchanged));
}

/** Numbers policies anew where their priorities do not say their order; others keep those that they have. */
function settled(policies: readonly EnteredPolicy[]): readonly EnteredPolicy[] {
  const isAfter = (policy: EnteredPolicy, index: number) =>
    index === 0 || priorityOf(policy) > priorityOf(policies[index - 1] ?? policy);
  if (policies.every(isAfter)) return policies;
  const step = Math.min(10, Math.floor(highestPriority / policies.length));
  return policies.map((policy, index) => withPriority(policy, String((index + 1) * step)));
}

/** Its place in the order. One that is none, which only a form that is not ours sends, is not before or behind any other. */
function priorityOf({ texts: { priority } }: EnteredPolicy): number {
  return /^\d{1,7}$/.test(priority) && Number(priority) <= highestPriority ? Number(priority) : Number.NaN;
}

function withPriority({ texts, ...rest }: EnteredPolicy, priority: string): EnteredPolicy {
  return { ...rest, texts: { ...texts, priority } };
}
