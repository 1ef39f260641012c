import { ServiceError } from '../../../../shared/platform/errors.ts';
import type { Policy } from '../../../../shared/policies/policy.ts';
import {
  checkPolicyFile,
  maxPolicies,
  messageOf,
  type PolicyIssue,
  readPolicyFile,
  tooManyPolicies,
} from '../../../../shared/policies/read-policy-file.ts';
import { readStrictJson } from '../../../http/body.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { metadataProblem } from './entered-metadata.ts';
import {
  amountFields,
  amountProblems,
  currencyProblem,
  type EnteredPolicy,
  enteredPolicyOf,
  fieldsOf,
  policyFields,
  policyInputOf,
  readEnteredPolicy,
} from './entered-policy.ts';

/** Policies that somebody is about to change, field by field or as the text of a file. */
export type Draft = { kind: 'form'; policies: readonly EnteredPolicy[] } | { kind: 'json'; file: string };

/** What the fields of a policy begin with: also its path in the file, so that what is wrong there finds its field. */
export function prefixOf(index: number): string {
  return `policies.${index}.`;
}

/** The policies that hold, to be changed. */
export function draftOf(policies: readonly Policy[]): Draft {
  return { kind: 'form', policies: policies.map(enteredPolicyOf) };
}

/**
 * What was sent, whatever it is.
 * @throws ServiceError validation_error for more policies than an organization may have, before any of them is looked at.
 */
export function readDraft(body: unknown): Draft {
  const fields = (body ?? {}) as Record<string, unknown>;
  if (typeof fields.file === 'string') return { kind: 'json', file: fields.file };
  if (`${prefixOf(maxPolicies)}priority` in fields) {
    throw new ServiceError('validation_error', `policies: ${tooManyPolicies}.`);
  }
  const policies: EnteredPolicy[] = [];
  for (let index = 0; `${prefixOf(index)}priority` in fields; index += 1) {
    policies.push(readEnteredPolicy(fields, prefixOf(index)));
  }
  return { kind: 'form', policies };
}

/** The digest of the policies that a draft was made from; the empty text when the form does not say. */
export function readMadeFrom(body: unknown): string {
  return entered(body, 'madeFrom');
}

/** The fields under which a form sends a draft on. */
export function draftFields(draft: Draft): [name: string, value: string][] {
  if (draft.kind === 'json') return [['file', draft.file]];
  return draft.policies.flatMap((policy, index) => fieldsOf(policy, prefixOf(index)));
}

/** Policies as the text of a file, or what has to be mended first because a file could not tell of it. */
export type JsonWriting = { kind: 'written'; draft: Draft } | { kind: 'invalid'; problems: FormProblems };

/** The same draft as the text of a file. What every file is checked for stands there, to be mended in either. */
export function asJson(draft: Draft): JsonWriting {
  if (draft.kind === 'json') return { kind: 'written', draft };
  const problems = problemsOfForm(draft.policies);
  if (Object.keys(problems).length > 0) return { kind: 'invalid', problems };
  const file = JSON.stringify(fileOf(draft.policies), null, 2);
  return { kind: 'written', draft: { kind: 'json', file } };
}

function fileOf(policies: readonly EnteredPolicy[]): { policies: unknown[] } {
  return { policies: policies.map(policyInputOf) };
}

/** The policies that are meant, or what has to be mended, by field. */
export type DraftReading =
  | { kind: 'valid'; policies: Policy[]; file: unknown }
  | { kind: 'invalid'; problems: FormProblems };

/** Checks a draft as every file of policies is checked. */
export function checkDraft(draft: Draft): DraftReading {
  return draft.kind === 'json' ? checkText(draft.file) : checkForm(draft.policies);
}

function checkText(text: string): DraftReading {
  const invalid = (problem: string): DraftReading => ({ kind: 'invalid', problems: { file: problem } });
  try {
    const file: unknown = JSON.parse(text);
    const reading = readStrictJson(text, (literal) => `the number ${literal} cannot be kept exactly`);
    if (reading.kind === 'invalid') return invalid(`This cannot be used: ${reading.problem}.`);
    return { kind: 'valid', policies: readPolicyFile(file), file };
  } catch (error) {
    if (error instanceof SyntaxError) return invalid(`This is not JSON: ${error.message}`);
    if (error instanceof ServiceError) return invalid(error.message);
    throw error;
  }
}

/** What is wrong with what was entered that its file would not show, because it holds less than the form. */
function problemsOfForm(policies: readonly EnteredPolicy[]): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const [index, policy] of policies.entries()) {
    const prefix = prefixOf(index);
    const own: [field: string, problem: string | null][] = [
      ['amountsIn', currencyProblem(policy)],
      ['match.metadata', metadataProblem(policy.metadata)],
      ...amountProblems(policy),
    ];
    for (const [field, problem] of own) {
      if (problem !== null) problems[`${prefix}${field}`] = problem;
    }
  }
  return problems;
}

function checkForm(policies: readonly EnteredPolicy[]): DraftReading {
  const file = fileOf(policies);
  const problems = problemsOfForm(policies);
  const reading = checkPolicyFile(file);
  if (reading.kind === 'valid' && Object.keys(problems).length === 0) {
    return { kind: 'valid', policies: reading.policies, file };
  }
  for (const issue of reading.kind === 'valid' ? [] : reading.issues) {
    const field = fieldAt(issue.path);
    problems[field] ??= wordsFor(issue, field);
  }
  return { kind: 'invalid', problems };
}

/** The field that a place of the file is entered in, or the first of those that it consists of. */
function fieldAt([, index, ...path]: readonly PropertyKey[]): string {
  if (typeof index !== 'number' || path.length === 0) return 'form';
  for (let length = path.length; length > 0; length -= 1) {
    const name = path.slice(0, length).join('.');
    if (policyFields.includes(name)) return `${prefixOf(index)}${name}`;
  }
  const first = policyFields.find((field) => field.startsWith(`${path.join('.')}.`));
  return first === undefined ? 'form' : `${prefixOf(index)}${first}`;
}

/** The file speaks of minor units, the form of decimals. */
function wordsFor(issue: PolicyIssue, field: string): string {
  const isAmount = amountFields.some((name) => field.endsWith(`.${name}`));
  if (isAmount && issue.code === 'too_small') return 'Has to be more than nothing.';
  const message = messageOf(issue);
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
