import { readStrictJson } from '#api/http/strict-json.ts';
import { isCurrency, toDecimal } from '#shared/money/money.ts';
import { type Policy, policySchema } from '#shared/policies/policy.ts';
import {
  checkPolicyFile,
  digestPolicies,
  messageOf,
  type PolicyIssue,
} from '#shared/policies/policy-file.ts';
import { entered, enteredList, type FormReading } from '../../http/forms.ts';
import { type EnteredAmount, readAmount } from '../../words/numbers.ts';
import { type PolicyField, policyFields } from './policy-fields.ts';

const amountFields = policyFields.filter(({ kind }) => kind === 'amount').map(({ name }) => name);

/** A policy as entered in the form, valid or not, by the names of the fields. */
export type EnteredPolicy = Readonly<Record<string, string | readonly string[]>>;

/** Reads the fields of a submitted form. */
export function readEnteredPolicy(body: unknown): EnteredPolicy {
  return policyOf(({ name, kind }) =>
    kind === 'list' ? enteredList(body, name) : entered(body, name).trim(),
  );
}

function policyOf(value: (field: PolicyField) => string | readonly string[]): EnteredPolicy {
  return Object.fromEntries(policyFields.map((field) => [field.name, value(field)]));
}

/** A stored policy in the form. Amounts are shown in the first currency that the policy names, or in US dollars. */
export function enteredPolicyOf(policy: Policy): EnteredPolicy {
  const { match, maxAmount } = policy;
  const amountsIn = match.currencies?.[0] ?? maxAmount?.currency ?? 'usd';
  const maxAmountIn = maxAmount?.currency ?? amountsIn;
  const json = { ...policySchema.encode(policy), amountsIn };
  return policyOf(({ name, kind }) => {
    const value = name.split('.').reduce<unknown>((part, key) => (Object(part) as never)[key], json);
    if (kind === 'list') return (value ?? []) as string[];
    if (name === 'maxAmount.currency') return maxAmountIn.toUpperCase();
    if (value === undefined || value === null || value === false) return '';
    return asText[kind]?.(value, name === 'maxAmount.amount' ? maxAmountIn : amountsIn) ?? String(value);
  });
}

/** What the fields of a kind show, where it is not the value itself. */
const asText: { [kind in PolicyField['kind']]?: (value: unknown, currency: string) => string } = {
  amount: (value, currency) => toDecimal(BigInt(value as number), currency),
  currencies: (value) => (value as string[]).join(', ').toUpperCase(),
  currency: (value) => String(value).toUpperCase(),
  flag: () => 'yes',
  json: (value) => JSON.stringify(value, null, 2),
};

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
  const at =
    policyFields.find(({ name }) => place.startsWith(`${name}.`)) ??
    policyFields.find(({ name }) => name.startsWith(place));
  return at?.name ?? 'form';
}

function messageFor(issue: PolicyIssue, field: string): string {
  // The message for JSON names minor units, and the form shows decimals.
  if (issue.code === 'too_small' && amountFields.includes(field)) return 'Must be greater than 0.';
  return messageOf(issue);
}

/**
 * The JSON of an entered policy, without empty fields. A text that cannot be parsed is kept as a string, which validation
 * rejects.
 */
function policyInputOf(policy: EnteredPolicy): Record<string, unknown> {
  const input: Record<string, unknown> = { name: policy.name };
  for (const field of policyFields) {
    const { name } = field;
    const isUnused = name === 'amountsIn' || (name === 'maxAmount.currency' && !policy['maxAmount.amount']);
    if (policy[name]?.length && !isUnused) setAt(input, name, inputOf(policy, field));
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

function inputOf(policy: EnteredPolicy, { name, kind }: PolicyField): unknown {
  const text = entered(policy, name);
  if (kind === 'list') return policy[name];
  if (kind === 'flag') return true;
  if (kind === 'currencies') return currenciesIn(text);
  if (kind === 'number') return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (kind === 'amount') {
    const read = amountIn(policy, name);
    return read.kind === 'amount' ? Number(read.amount) : text;
  }
  if (kind !== 'json') return text;
  const read = readStrictJson(text);
  return read.kind === 'valid' ? read.value : text;
}

function currenciesIn(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s,;]+/)
    .filter((code) => code !== '');
}

/** Reads an amount in its currency, or in US dollars if the currency is invalid, which is reported separately. */
function amountIn(policy: EnteredPolicy, field: string): EnteredAmount {
  const currencyField = field === 'maxAmount.amount' ? 'maxAmount.currency' : 'amountsIn';
  const code = entered(policy, currencyField).toLowerCase();
  return readAmount(entered(policy, field), isCurrency(code) ? code : 'usd');
}

/** The problems that validation of the policy's JSON does not find. */
function problemsOfForm(policy: EnteredPolicy): Record<string, string> {
  const problems: Record<string, string> = {};
  const amounts = amountFields.filter((field) => policy[field] !== '');
  for (const field of amounts) {
    const read = amountIn(policy, field);
    if (read.kind === 'problem') problems[field] = read.problem;
  }
  const currency = entered(policy, 'amountsIn').toLowerCase();
  const currencies = currenciesIn(entered(policy, 'match.currencies'));
  const needsCurrency = amounts.some((field) => field !== 'maxAmount.amount');
  if (needsCurrency && !isCurrency(currency)) problems.amountsIn = 'Must be a currency, such as USD.';
  else if (needsCurrency && currencies.length > 0 && !currencies.includes(currency)) {
    problems.amountsIn = 'Must be one of the payment currencies below.';
  }
  const metadata = readStrictJson(entered(policy, 'match.metadata') || '{}');
  if (metadata.kind === 'invalid') problems['match.metadata'] = metadata.problem;
  return problems;
}
