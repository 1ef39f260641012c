import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import { addNote } from '#shared/refunds/decisions/annotate.ts';
import { approveRefund, type DecisionOutcome, rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { resolvedStatuses } from '#shared/refunds/decisions/evidence.ts';
import {
  dismissFlag,
  type ResolutionOutcome,
  recheckRefund,
  resolveRefund,
} from '#shared/refunds/decisions/resolve.ts';
import { cancelAndWait } from '#shared/refunds/lifecycle/cancel.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { statusWords } from '../../components/badge.tsx';
import { confirmed, contextOf } from '../../http/access.ts';
import { entered, type FormProblems, problemsOf, readForm } from '../../http/forms.ts';
import { leadTo, type Page } from '../../http/page.ts';
import { idInPath } from '../../http/paths.ts';
import type { DoneWord } from '../../words/done.ts';
import { disputedWords } from '../../words/words.ts';

/** A decision about one refund by a user who may make it. */
interface DecisionRequest {
  refund: RefundWithWork;
  /** For the timeline and the audit log. */
  actor: string;
  body: unknown;
}

/**
 * The result of a decision.
 * - `done`: carried out.
 * - `too-late`: the refund has changed since the page was loaded, and nothing was changed.
 * - `unfinished`: something has to be corrected, at its field, or confirmed; nothing was changed.
 */
type DecisionResult =
  | { kind: 'done'; word: DoneWord }
  | { kind: 'too-late'; message: string }
  | { kind: 'unfinished'; problems: FormProblems; isForceable: boolean };

type Decide = (deps: ApiDependencies, request: DecisionRequest) => Promise<DecisionResult>;

/** What the page of a refund shows of a decision that was not carried out. */
export interface Undecided {
  /** Why it came too late. */
  tooLate?: string | undefined;
  /** True when `force` would carry it out. */
  isForceable?: boolean | undefined;
}

/** The page on which refunds are decided. */
interface DecisionPlace {
  page: Page<Undecided>;
  /** A decision is posted to `<path>/:id/<name>`. */
  path: string;
  names: readonly DecisionName[];
  /** The path below the environment after a decision that was carried out. */
  nextOf: (refund: RefundWithWork) => string;
}

/** Adds decisions to a page. Of several decisions at once, one is done. */
export function addDecisions(deps: ApiDependencies, { page, path, names, nextOf }: DecisionPlace): void {
  for (const name of names) {
    const guard = needsConfirmation.has(name) ? confirmed('operator') : 'operator';
    page.form(`${path}/:id/${name}`, guard, z.unknown(), async (request, _entries, reply) => {
      const { owner, actor } = contextOf(request);
      const { body } = request;
      const refund = await findOwnRefund(deps.db, owner, idInPath(request, 'id', 'ref'));
      const result = await decide(deps, name, { refund, actor, body });
      if (result.kind === 'done') return leadTo(nextOf(refund), result.word);
      reply.code(result.kind === 'unfinished' ? 400 : 409);
      if (result.kind === 'too-late') return { tooLate: result.message };
      const { problems, isForceable } = result;
      request.submitted = { body, problems };
      return { isForceable };
    });
  }
}

/** Makes a decision. @throws ServiceError when its dialog has no field to correct. */
export async function decide(
  deps: ApiDependencies,
  name: DecisionName,
  request: DecisionRequest,
): Promise<DecisionResult> {
  try {
    return await decisions[name](deps, request);
  } catch (error) {
    if (name !== 'reject' && name !== 'resolve' && name !== 'note') throw error;
    // Under the names that the fields have in the dialogs.
    const problems = problemsOf(error, ['reason', 'processor refund', 'note']);
    const { form, note, reason, 'processor refund': processorRefund } = problems;
    return unfinished({ form, note, [`${name}Reason`]: reason, processorRefund });
  }
}

/** Each is guarded by the state of the refund that it changes. */
const decisions = {
  approve: async (deps, { refund, actor }) =>
    approvalResult(await approveRefund(deps, refund, actor), 'approved'),
  reject: async (deps, { refund, actor, body }) =>
    approvalResult(await rejectRefund(deps, refund, actor, entered(body, 'rejectReason')), 'rejected'),
  cancel,
  recheck: async (deps, { refund, actor }) =>
    (await recheckRefund(deps, refund, actor))
      ? { kind: 'done', word: 'rechecked' }
      : tooLate('The refund awaits approval and has never been sent to its processor.'),
  resolve,
  note: async (deps, { refund, actor, body }) => {
    await addNote(deps, refund, actor, entered(body, 'note'));
    return { kind: 'done', word: 'noted' };
  },
} satisfies Record<string, Decide>;
type DecisionName = keyof typeof decisions;

/** The names of all decisions. */
export const decisionNames = Object.keys(decisions) as DecisionName[];

/** Those that move money, or settle what has become of it. */
const needsConfirmation: ReadonlySet<DecisionName> = new Set(['approve', 'resolve']);

function approvalResult({ kind, refund }: DecisionOutcome, word: DoneWord): DecisionResult {
  if (kind === 'done') return { kind, word };
  if (kind === 'disputed')
    return tooLate(`${disputedWords} Reject it, or wait until you have won the dispute.`);
  return tooLate(
    kind === 'flagged'
      ? 'The refund is flagged. Resolve the flag before you approve it.'
      : `The refund is no longer awaiting approval: it is ${statusOf(refund)}. See the timeline.`,
  );
}

async function cancel(deps: ApiDependencies, { refund, actor }: DecisionRequest): Promise<DecisionResult> {
  const { organizationId, environment } = refund;
  const verdict = await cancelAndWait(
    deps,
    { refundId: refund.id, organizationId, environment, actor, idempotencyKey: null },
    deps.settings.CANCEL_WAIT_MS,
  );
  if (verdict.kind === 'cancelled') return { kind: 'done', word: 'cancelled' };
  if (verdict.kind === 'requested') return { kind: 'done', word: 'cancel-requested' };
  const { status } = verdict.refund;
  if (status === 'processing') {
    return tooLate('The processor refused the cancellation. The refund continues.');
  }
  return tooLate(
    status === 'cancelled'
      ? 'The refund is already cancelled. See the timeline.'
      : `The refund is ${statusOf(verdict.refund)} and can no longer be cancelled.`,
  );
}

const resolutionSchema = z.object({
  end: z.enum([...resolvedStatuses, 'dismiss'], 'Choose one.'),
  resolveReason: z.string().default(''),
  processorRefund: z
    .string()
    .default('')
    .transform((id) => id.trim() || null),
  force: z.literal('yes').optional(),
});

/** Resolves a flagged refund or dismisses its flag, by the same rules as the command line. */
async function resolve(deps: ApiDependencies, request: DecisionRequest): Promise<DecisionResult> {
  const { refund, actor, body } = request;
  const form = readForm(resolutionSchema, body);
  if (form.kind === 'invalid') return unfinished(form.problems);
  const flaggedAt = refund.work?.flaggedAt?.toISOString();
  if (flaggedAt !== undefined && flaggedAt !== entered(body, 'flaggedAt')) {
    return tooLate('The flag has changed since you opened this page. Review it and try again.');
  }
  const { end, resolveReason: reason, processorRefund: externalRefundId, force } = form.value;
  if (end === 'dismiss') {
    return resolutionResult(await dismissFlag(deps, refund, actor, reason), 'dismissed');
  }
  const resolution = { status: end, reason, externalRefundId, force: force === 'yes' };
  return resolutionResult(await resolveRefund(deps, refund, actor, resolution), 'resolved');
}

function resolutionResult(outcome: ResolutionOutcome, word: DoneWord): DecisionResult {
  if (outcome.kind === 'done') return { kind: 'done', word };
  if (outcome.kind === 'contradicted') {
    const problems = { form: `Nothing was changed. ${outcome.evidence}` };
    return unfinished(problems, outcome.forceable);
  }
  const status = statusOf(outcome.refund);
  const refusals = {
    'not-flagged': `The refund is ${status} and no longer flagged.`,
    'not-allowed': `The refund is ${status} and cannot be resolved like that.`,
    changed: 'The refund has changed. Review it and try again.',
    leased: 'A worker or another person is working on it. Try again in a minute.',
  };
  return tooLate(refusals[outcome.kind]);
}

function unfinished(problems: FormProblems, isForceable = false): DecisionResult {
  return { kind: 'unfinished', problems, isForceable };
}

function tooLate(message: string): DecisionResult {
  return { kind: 'too-late', message };
}

function statusOf({ status }: Pick<RefundWithWork, 'status'>): string {
  return statusWords[status].toLowerCase();
}
