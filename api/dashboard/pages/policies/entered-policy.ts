import { isCurrency, toDecimal } from '../../../../shared/money/money.ts';
import { type Policy, policySchema } from '../../../../shared/policies/policy.ts';
import { type EnteredAmount, entered, readAmount } from '../../http/forms.ts';
import { type EnteredMetadata, metadataInput, metadataOf, readMetadataRows } from './entered-metadata.ts';

/** Fields that hold an amount in major units of the currency that `amountsIn` names; as in the file, but for that. */
const sharedAmountFields = [
  'match.amount.min',
  'match.amount.max',
  'approvalAbove.api',
  'approvalAbove.dashboard',
  'approvalAbove.mcp',
  'velocity.perDay.amount',
] as const;

/** All fields with an amount; that of a payment's limit has a currency of its own. */
export const amountFields = [...sharedAmountFields, 'maxAmount.amount'] as const;
type AmountField = (typeof amountFields)[number];

const textFields = [
  ...amountFields,
  'name',
  'priority',
  'amountsIn',
  'match.currencies',
  'windowDays',
  'maxPercent',
  'maxAmount.currency',
  'velocity.perTransaction',
  'velocity.perDay.count',
  'finalSale',
  'enforce.api',
  'enforce.dashboard',
] as const;
export type TextField = (typeof textFields)[number];

const listFields = ['match.processors', 'match.reasons'] as const;
export type ListField = (typeof listFields)[number];

/** All places of a policy at which a problem can be told. */
export const policyFields: readonly string[] = [...textFields, ...listFields, 'match.metadata'];

/** A policy as somebody entered it: texts by the names that they have in the file of policies. */
export interface EnteredPolicy {
  texts: Readonly<Record<TextField, string>>;
  lists: Readonly<Record<ListField, readonly string[]>>;
  metadata: readonly EnteredMetadata[];
}

/** What was entered between the names that begin with `prefix`, whatever it is. */
export function readEnteredPolicy(body: Record<string, unknown>, prefix: string): EnteredPolicy {
  const text = (field: TextField) => [field, entered(body, `${prefix}${field}`).trim()];
  const list = (field: ListField) => [field, textsOf(body[`${prefix}${field}`])];
  return {
    texts: Object.fromEntries(textFields.map(text)) as Record<TextField, string>,
    lists: Object.fromEntries(listFields.map(list)) as Record<ListField, string[]>,
    metadata: readMetadataRows(body, `${prefix}match.metadata.`),
  };
}

function textsOf(value: unknown): string[] {
  return [value ?? []].flat().filter((each): each is string => typeof each === 'string');
}

/** The fields under which a form sends it on, each with its text; the inverse of `readEnteredPolicy`. */
export function fieldsOf({ texts, lists, metadata }: EnteredPolicy, prefix: string): [string, string][] {
  return [
    ...textFields.map((field): [string, string] => [`${prefix}${field}`, texts[field]]),
    ...listFields.flatMap((field) =>
      lists[field].map((value): [string, string] => [`${prefix}${field}`, value]),
    ),
    ...metadata.flatMap((row, index) =>
      Object.entries(row).map(([part, value]): [string, string] => [
        `${prefix}match.metadata.${index}.${part}`,
        value,
      ]),
    ),
  ];
}

/** A policy as it stands in the form. Its amounts are shown in the first currency that it names, or in US dollars. */
export function enteredPolicyOf(policy: Policy): EnteredPolicy {
  const { match, maxAmount, approvalAbove, velocity, enforce } = policy;
  const amountsIn = match.currencies?.[0] ?? maxAmount?.currency ?? 'usd';
  const money = (amount: bigint | null | undefined, currency = amountsIn) =>
    amount === null || amount === undefined ? '' : toDecimal(amount, currency);
  const number = (value: number | null | undefined) => (value ?? '').toString();
  return {
    texts: {
      name: policy.name,
      priority: number(policy.priority),
      amountsIn: amountsIn.toUpperCase(),
      'match.currencies': (match.currencies ?? []).join(', ').toUpperCase(),
      'match.amount.min': money(match.amount?.min),
      'match.amount.max': money(match.amount?.max),
      windowDays: number(policy.windowDays),
      maxPercent: number(policy.maxPercent),
      'maxAmount.amount': maxAmount === null ? '' : money(maxAmount.amount, maxAmount.currency),
      'maxAmount.currency': (maxAmount?.currency ?? amountsIn).toUpperCase(),
      'approvalAbove.api': money(approvalAbove.api),
      'approvalAbove.dashboard': money(approvalAbove.dashboard),
      'approvalAbove.mcp': money(approvalAbove.mcp),
      'velocity.perTransaction': number(velocity.perTransaction),
      'velocity.perDay.count': number(velocity.perDay?.count),
      'velocity.perDay.amount': money(velocity.perDay?.amount),
      finalSale: policy.finalSale ? 'yes' : '',
      'enforce.api': enforce.api ? 'yes' : '',
      'enforce.dashboard': enforce.dashboard ? 'yes' : '',
    },
    lists: { 'match.processors': match.processors ?? [], 'match.reasons': match.reasons ?? [] },
    metadata: metadataOf(match.metadata ?? {}),
  };
}

const unnamed = enteredPolicyOf(policySchema.parse({ name: 'New', priority: 0 }));

/** One in which nothing stands yet but what holds when nothing is said. */
export const emptyPolicy: EnteredPolicy = { ...unnamed, texts: { ...unnamed.texts, name: '' } };

/**
 * The policy that is meant, as it stands in the file of policies, to be checked like any other. What cannot be read, such as
 * a number of days with a letter in it, stays the text that it is, so that it is refused there.
 */
export function policyInputOf(policy: EnteredPolicy): Record<string, unknown> {
  const { texts, lists, metadata } = policy;
  const amount = (field: AmountField) => amountInput(policy, field);
  const number = (field: TextField) => numberInput(texts[field]);
  const list = (field: ListField) => (lists[field].length === 0 ? undefined : lists[field]);
  return {
    name: texts.name,
    priority: number('priority'),
    match: given({
      processors: list('match.processors'),
      currencies: texts['match.currencies'] === '' ? undefined : currenciesIn(texts['match.currencies']),
      reasons: list('match.reasons'),
      amount: given({ min: amount('match.amount.min'), max: amount('match.amount.max') }),
      metadata: metadataInput(metadata),
    }),
    windowDays: number('windowDays'),
    maxPercent: number('maxPercent'),
    maxAmount:
      texts['maxAmount.amount'] === ''
        ? undefined
        : {
            amount: amount('maxAmount.amount'),
            currency: texts['maxAmount.currency'].toLowerCase(),
          },
    finalSale: texts.finalSale !== '',
    approvalAbove: given({
      api: amount('approvalAbove.api'),
      dashboard: amount('approvalAbove.dashboard'),
      mcp: amount('approvalAbove.mcp'),
    }),
    velocity: given({
      perTransaction: number('velocity.perTransaction'),
      perDay: given({
        count: number('velocity.perDay.count'),
        amount: amount('velocity.perDay.amount'),
      }),
    }),
    enforce: { api: texts['enforce.api'] !== '', dashboard: texts['enforce.dashboard'] !== '' },
  };
}

/** True when it matches every refund, so that those behind it are never asked. */
export function isForEveryRefund(policy: EnteredPolicy): boolean {
  return policyInputOf(policy).match === undefined;
}

/** The currencies that a policy is for, as they were entered. */
function currenciesIn(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s,;]+/)
    .filter((code) => code !== '');
}

/** What was left empty is left out, so that the defaults of a policy hold. */
function given(part: Record<string, unknown>): Record<string, unknown> | undefined {
  const entries = Object.entries(part).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function numberInput(text: string): number | string | undefined {
  if (text === '') return undefined;
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

/** An amount of the form, read in its currency. One whose currency is none is refused for that, and read as dollars. */
function amountIn({ texts }: EnteredPolicy, field: AmountField): EnteredAmount {
  const code = texts[field === 'maxAmount.amount' ? 'maxAmount.currency' : 'amountsIn'].toLowerCase();
  return readAmount(texts[field], isCurrency(code) ? code : 'usd');
}

/** Minor units as a number; what cannot be read stays the text that it is. */
function amountInput(policy: EnteredPolicy, field: AmountField): number | string | undefined {
  const text = policy.texts[field];
  if (text === '') return undefined;
  const read = amountIn(policy, field);
  return read.kind === 'amount' ? Number(read.amount) : text;
}

/** What is wrong with amounts as they were entered, by field. */
export function amountProblems(policy: EnteredPolicy): [field: AmountField, problem: string][] {
  return amountFields.flatMap((field): [AmountField, string][] => {
    const read = policy.texts[field] === '' ? null : amountIn(policy, field);
    return read?.kind === 'problem' ? [[field, read.problem]] : [];
  });
}

/** What the form asks for besides the rules of the file: the currency in which its amounts are written. */
export function currencyProblem({ texts }: EnteredPolicy): string | null {
  const code = texts.amountsIn.toLowerCase();
  if (sharedAmountFields.every((field) => texts[field] === '')) return null;
  if (!isCurrency(code)) return 'Has to be a currency, such as USD.';
  const currencies = currenciesIn(texts['match.currencies']);
  if (currencies.length === 0 || currencies.includes(code)) return null;
  return 'Has to be one of the currencies that the policy is for.';
}
