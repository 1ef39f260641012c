import { readStrictJson } from '#api/http/body.ts';
import { isCurrency, toDecimal } from '#shared/money/money.ts';
import { type Policy, policySchema } from '#shared/policies/policy.ts';
import {
  checkPolicyFile,
  digestPolicies,
  messageOf,
  type PolicyIssue,
} from '#shared/policies/policy-file.ts';

import {
  capitalized,
  type EnteredAmount,
  entered,
  enteredList,
  type FormReading,
  readAmount,
} from '../../http/forms.ts';

/**
 * The kind of each field with one value. A field is named by its path in the JSON of a policy, except `amountsIn`, the
 * currency of all amounts but `maxAmount`.
 */
export const fieldKinds = {
  name: 'text',
  priority: 'number',
  amountsIn: 'currency',
  'match.currencies': 'currencies',
  'match.amount.min': 'amount',
  'match.amount.max': 'amount',
  'match.metadata': 'json',
  finalSale: 'flag',
  windowDays: 'number',
  maxPercent: 'number',
  'maxAmount.amount': 'amount',
  'maxAmount.currency': 'currency',
  'velocity.perTransaction': 'number',
  'velocity.perDay.count': 'number',
  'velocity.perDay.amount': 'amount',
  'velocity.perRequesterDay.count': 'number',
  'velocity.perRequesterDay.amount': 'amount',
  'approvalAbove.api': 'amount',
  'approvalAbove.dashboard': 'amount',
  'approvalAbove.mcp': 'amount',
  'approvalAbovePerRequesterDay.api': 'amount',
  'approvalAbovePerRequesterDay.dashboard': 'amount',
  'approvalAbovePerRequesterDay.mcp': 'amount',
  'holdSeconds.api': 'number',
  'holdSeconds.dashboard': 'number',
  'holdSeconds.mcp': 'number',
  'enforce.api': 'flag',
  'enforce.dashboard': 'flag',
} as const;
export type PolicyField = keyof typeof fieldKinds;
const textFields = Object.keys(fieldKinds) as PolicyField[];
const amountFields = textFields.filter((field) => fieldKinds[field] === 'amount');

const listFields = ['match.processors', 'match.reasons'] as const;
type ListField = (typeof listFields)[number];

/** A policy as entered in the form, valid or not. */
export type EnteredPolicy = Readonly<Record<PolicyField, string> & Record<ListField, readonly string[]>>;

/** Reads the fields of a submitted form. */
export function readEnteredPolicy(body: unknown): EnteredPolicy {
  return {
    ...textsFrom((field) => entered(body, field).trim()),
    'match.processors': enteredList(body, 'match.processors'),
    'match.reasons': enteredList(body, 'match.reasons'),
  };
}

function textsFrom(textOf: (field: PolicyField) => string): Record<PolicyField, string> {
  return Object.fromEntries(textFields.map((field) => [field, textOf(field)])) as Record<PolicyField, string>;
}

/** A stored policy in the form. Amounts are shown in the first currency that the policy names, or in US dollars. */
export function enteredPolicyOf(policy: Policy): EnteredPolicy {
  const { match, maxAmount } = policy;
  const amountsIn = match.currencies?.[0] ?? maxAmount?.currency ?? 'usd';
  const maxAmountIn = maxAmount?.currency ?? amountsIn;
  const json = { ...policySchema.encode(policy), amountsIn };
  const textOf = (field: PolicyField): string => {
    const value = field.split('.').reduce<unknown>((part, key) => (Object(part) as never)[key], json);
    if (field === 'maxAmount.currency') return maxAmountIn.toUpperCase();
    if (value === undefined || value === null || value === false) return '';
    switch (fieldKinds[field]) {
      case 'amount':
        return toDecimal(BigInt(value as number), field === 'maxAmount.amount' ? maxAmountIn : amountsIn);
      case 'currencies':
        return (value as string[]).join(', ').toUpperCase();
      case 'currency':
        return String(value).toUpperCase();
      case 'flag':
        return 'yes';
      case 'json':
        return JSON.stringify(value, null, 2);
      default:
        return String(value);
    }
  };
  return {
    ...textsFrom(textOf),
    'match.processors': match.processors ?? [],
    'match.reasons': match.reasons ?? [],
  };
}

/** An empty form. */
export function newEnteredPolicy(priority: number): EnteredPolicy {
  return { ...enteredPolicyOf(policySchema.parse({ name: 'New', priority })), name: '' };
}

/**
 * The policies with the edited one added at the end.
 * @param replaces the name of the policy that the form edits; the empty text for a new one.
 */
export function fileWith(stored: readonly Policy[], policy: EnteredPolicy, replaces: string): PolicyFile {
  const input = policyInputOf(policy);
  const parsed = policySchema.safeParse(input);
  const digest = parsed.success ? digestPolicies([parsed.data]) : null;
  // A stored policy equal to the edited one was saved by an earlier submission of the same form.
  const others = stored.filter((each) => each.name !== replaces && digestPolicies([each]) !== digest);
  return { policies: [...others.map((each) => policySchema.encode(each)), input] };
}

interface PolicyFile {
  policies: object[];
}

/** Validates a form together with the other policies. */
export function checkEnteredPolicy(
  stored: readonly Policy[],
  policy: EnteredPolicy,
  replaces: string,
): FormReading<Policy[]> {
  const problems = problemsOfForm(policy);
  const file = fileWith(stored, policy, replaces);
  const reading = checkPolicyFile(file);
  if (reading.kind === 'valid' && Object.keys(problems).length === 0) {
    return { kind: 'valid', value: reading.policies };
  }
  for (const issue of reading.kind === 'valid' ? [] : reading.issues) {
    const isOwn = issue.path[1] === file.policies.length - 1;
    const field = isOwn ? fieldAt(issue.path.slice(2)) : 'form';
    problems[field] ??= messageFor(issue, field);
  }
  return { kind: 'invalid', problems };
}

/** The field of a path in the JSON of a policy, or the first field of an object. */
function fieldAt(path: readonly PropertyKey[]): string {
  const place = `${path.join('.')}.`;
  const fields = [...textFields, ...listFields];
  return (
    fields.find((field) => place.startsWith(`${field}.`)) ??
    fields.find((field) => field.startsWith(place)) ??
    'form'
  );
}

function messageFor(issue: PolicyIssue, field: string): string {
  // The message for JSON speaks of minor units, the form shows decimals.
  if (issue.code === 'too_small' && amountFields.some((each) => each === field)) {
    return 'Must be greater than 0.';
  }
  return `${capitalized(messageOf(issue))}.`;
}

/**
 * The JSON of an entered policy, without empty fields. A text that cannot be parsed is kept as a string, which validation
 * rejects.
 */
function policyInputOf(policy: EnteredPolicy): Record<string, unknown> {
  const input: Record<string, unknown> = { name: policy.name };
  for (const field of textFields) {
    const isUnused = field === 'amountsIn' || (field === 'maxAmount.currency' && !policy['maxAmount.amount']);
    if (policy[field] !== '' && !isUnused) setAt(input, field, inputOf(policy, field));
  }
  for (const field of listFields) {
    if (policy[field].length > 0) setAt(input, field, policy[field]);
  }
  return input;
}

function setAt(input: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let part = input;
  for (const key of keys) {
    part[key] ??= {};
    part = part[key] as Record<string, unknown>;
  }
  part[last] = value;
}

function inputOf(policy: EnteredPolicy, field: PolicyField): unknown {
  const text = policy[field];
  switch (fieldKinds[field]) {
    case 'amount': {
      const read = amountIn(policy, field);
      return read.kind === 'amount' ? Number(read.amount) : text;
    }
    case 'currencies':
      return currenciesIn(text);
    case 'flag':
      return true;
    case 'json': {
      const read = readStrictJson(text);
      return read.kind === 'valid' ? read.value : text;
    }
    case 'number':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    default:
      return text;
  }
}

function currenciesIn(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s,;]+/)
    .filter((code) => code !== '');
}

/** Reads an amount in its currency, or in US dollars if the currency is invalid, which is reported separately. */
function amountIn(policy: EnteredPolicy, field: PolicyField): EnteredAmount {
  const code = policy[field === 'maxAmount.amount' ? 'maxAmount.currency' : 'amountsIn'].toLowerCase();
  return readAmount(policy[field], isCurrency(code) ? code : 'usd');
}

/** The problems that validation of the policy's JSON does not find. */
function problemsOfForm(policy: EnteredPolicy): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const field of amountFields) {
    const read = policy[field] === '' ? null : amountIn(policy, field);
    if (read?.kind === 'problem') problems[field] = read.problem;
  }
  const currency = policy.amountsIn.toLowerCase();
  const currencies = currenciesIn(policy['match.currencies']);
  const needsCurrency = amountFields.some((field) => field !== 'maxAmount.amount' && policy[field] !== '');
  if (needsCurrency && !isCurrency(currency)) problems.amountsIn = 'Must be a currency, such as USD.';
  else if (needsCurrency && currencies.length > 0 && !currencies.includes(currency)) {
    problems.amountsIn = 'Must be one of the payment currencies below.';
  }
  const metadata = policy['match.metadata'] === '' ? null : readStrictJson(policy['match.metadata']);
  if (metadata?.kind === 'invalid') problems['match.metadata'] = `${capitalized(metadata.problem)}.`;
  return problems;
}
