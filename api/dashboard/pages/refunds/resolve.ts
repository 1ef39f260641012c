import { z } from 'zod';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import { resolvedStatuses } from '../../../../shared/refunds/decisions/evidence.ts';
import {
  dismissFlag,
  type ResolutionOutcome,
  resolveRefund,
} from '../../../../shared/refunds/decisions/resolve.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import { type FormProblems, problemsOf, readForm } from '../../http/forms.ts';
import { statusWords } from '../../layout/badge.tsx';
import type { DecisionResult } from './decision-result.ts';

const formSchema = z.object({
  end: z.enum([...resolvedStatuses, 'dismiss'], 'Choose one.'),
  reason: z.string(),
  externalRefundId: z.string().transform((id) => id.trim() || null),
  force: z.string().transform((word) => word !== ''),
});

/** Resolves a flagged refund or dismisses its flag, by the same rules as the command line. */
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
  const flaggedAt = refund.work?.flaggedAt?.toISOString();
  if (flaggedAt !== undefined && flaggedAt !== field('flaggedAt')) {
    return tooLate('The flag has changed since you opened this page. Review it and try again.');
  }
  const { end, reason, externalRefundId, force } = form.value;
  try {
    if (end === 'dismiss') return resultOf(await dismissFlag(deps, refund, actor, reason), 'dismissed');
    const resolution = { status: end, reason, externalRefundId, force };
    return resultOf(await resolveRefund(deps, refund, actor, resolution), 'resolved');
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

function resultOf(outcome: ResolutionOutcome, word: 'resolved' | 'dismissed'): DecisionResult {
  const status = statusWords[outcome.refund.status].toLowerCase();
  switch (outcome.kind) {
    case 'done':
      return { kind: 'done', word };
    case 'not-flagged':
      return tooLate(`The refund is ${status} and no longer flagged.`);
    case 'not-allowed':
      return tooLate(`The refund is ${status} and cannot be resolved like that.`);
    case 'changed':
      return tooLate('The refund has changed. Review it and try again.');
    case 'leased':
      return tooLate('A worker or another person is working on it. Try again in a minute.');
    case 'contradicted':
      return unfinished({ form: `Nothing was changed. ${outcome.evidence}` }, outcome.forceable);
  }
}

function tooLate(message: string): DecisionResult {
  return { kind: 'too-late', message };
}
