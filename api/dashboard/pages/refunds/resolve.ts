import { z } from 'zod';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import { resolvedStatuses } from '../../../../shared/refunds/decisions/possible-resolutions.ts';
import {
  keepRefund,
  type ResolutionOutcome,
  resolveRefund,
} from '../../../../shared/refunds/decisions/resolve.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import { type FormProblems, problemsOf, readForm } from '../../http/forms.ts';
import { statusWords } from '../../layout/badge.tsx';
import type { DecisionResult } from './decision-result.ts';

const formSchema = z.object({
  end: z.enum([...resolvedStatuses, 'keep'], 'Choose one.'),
  reason: z.string(),
  externalRefundId: z.string().transform((id) => id.trim() || null),
  force: z.string().transform((word) => word !== ''),
});

/** Ends a flagged refund by a person's decision, or lets it stand; the rules are those of the command line. */
export async function resolve(
  deps: ApiDependencies,
  { refund, actor, field }: { refund: RefundWithWork; actor: string; field: (name: string) => string },
): Promise<DecisionResult> {
  const form = readForm(formSchema, {
    end: field('end'),
    reason: field('resolveReason'),
    externalRefundId: field('processorRefund'),
    force: field('force'),
  });
  if (form.kind === 'invalid') return unfinished(form.problems);
  const { end, reason, externalRefundId, force } = form.value;
  try {
    if (end === 'keep') return resultOf(await keepRefund(deps, refund, actor, reason), end);
    const resolution = { status: end, reason, externalRefundId, force };
    return resultOf(await resolveRefund(deps, refund, actor, resolution), end);
  } catch (error) {
    return unfinished(entryProblems(error));
  }
}

/** Under the names that the fields have in the dialog. */
function entryProblems(error: unknown): FormProblems {
  if (!(error instanceof ServiceError)) throw error;
  const message = error.message
    .replace(/^reason:/, 'resolveReason:')
    .replace(/^processor refund:/, 'processorRefund:');
  return problemsOf(new ServiceError(error.code, message), ['resolveReason', 'processorRefund']);
}

function unfinished(problems: FormProblems, forceable = false): DecisionResult {
  return { kind: 'unfinished', decision: { dialog: 'resolve', problems, forceable } };
}

function resultOf(outcome: ResolutionOutcome, end: string): DecisionResult {
  const { refund } = outcome;
  const status = statusWords[refund.status].toLowerCase();
  switch (outcome.kind) {
    case 'done':
      return { kind: 'done', word: end === 'keep' ? 'kept' : 'resolved' };
    case 'not-flagged':
      return tooLate(`It is not flagged any more: it is ${status} and needs nobody. The timeline tells why.`);
    case 'not-allowed':
      return tooLate(`It is ${status}, and cannot be ended like that.`);
    case 'changed':
      return tooLate('It has changed meanwhile. Look at it again, and decide then.');
    case 'leased':
      return tooLate('A worker or somebody else is working on it just now. Try again in a minute.');
    case 'contradicted':
      return unfinished({ form: `Nothing was changed. ${outcome.evidence}` }, outcome.forceable);
  }
}

function tooLate(message: string): DecisionResult {
  return { kind: 'too-late', message };
}
