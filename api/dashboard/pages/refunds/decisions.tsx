import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  approveRefund,
  type DecisionOutcome,
  rejectRefund,
} from '../../../../shared/refunds/decisions/approve.ts';
import { recheckRefund } from '../../../../shared/refunds/decisions/resolve.ts';
import { type CancelVerdict, cancelAndWait } from '../../../../shared/refunds/lifecycle/cancel.ts';
import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { findOwnRefund } from '../../../../shared/refunds/queries/find-refunds.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { entered, problemsOf } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { statusWords } from '../../layout/badge.tsx';
import { Notice } from '../../layout/notice.tsx';
import type { DecisionResult, DoneWord } from './decision-result.ts';
import { Detail } from './detail.tsx';
import { readDetail } from './read-detail.ts';
import { resolve } from './resolve.ts';

const operator = { config: { role: 'operator' as const } };
const paramsSchema = z.object({ id: z.string() });

/** A decision about one refund by a person who may make it. */
interface DecisionRequest {
  refund: RefundWithWork;
  /** For the timeline and the audit log. */
  actor: string;
  /** What was entered in a field. */
  field: (name: string) => string;
}

type Decide = (deps: ApiDependencies, request: DecisionRequest) => Promise<DecisionResult>;

const decisions: Readonly<Record<string, Decide>> = { approve, reject, cancel, recheck, resolve };

/** `POST /refunds/:id/<decision>`. Of several decisions at once, one is done. */
export function decisionRoutes(scope: Api, deps: ApiDependencies): void {
  for (const [name, decide] of Object.entries(decisions)) {
    scope.post(`/refunds/:id/${name}`, operator, async (request, reply) => {
      const context = contextOf(request);
      const { id } = paramsSchema.parse(request.params);
      const refund = await findOwnRefund(deps.db, context.owner, id);
      const field = (each: string) => entered(request.body, each);
      const result = await decide(deps, { refund, actor: context.actor, field });
      if (result.kind === 'done') {
        return reply.redirect(`${context.base}/refunds/${id}?done=${result.word}`, 303);
      }
      return await showAgain(deps, reply, context, { id, result, request });
    });
  }
}

interface NotDone {
  id: string;
  result: Exclude<DecisionResult, { kind: 'done' }>;
  request: FastifyRequest;
}

async function showAgain(
  deps: ApiDependencies,
  reply: FastifyReply,
  context: Context,
  { id, result, request }: NotDone,
): Promise<FastifyReply> {
  const detail = await readDetail(deps, context, id);
  if (result.kind === 'too-late') {
    const notice = (
      <Notice tone="warn">
        <strong>Nothing was changed.</strong>
        {result.message}
      </Notice>
    );
    return sendPage(reply.code(409), <Detail context={context} detail={detail} notice={notice} />);
  }
  const unfinished = { ...result.decision, entered: (field: string) => entered(request.body, field) };
  return sendPage(reply.code(400), <Detail context={context} detail={detail} unfinished={unfinished} />);
}

async function approve(deps: ApiDependencies, { refund, actor }: DecisionRequest): Promise<DecisionResult> {
  return ofDecision(await approveRefund(deps, refund, actor), 'approved');
}

async function reject(
  deps: ApiDependencies,
  { refund, actor, field }: DecisionRequest,
): Promise<DecisionResult> {
  try {
    return ofDecision(await rejectRefund(deps, refund, actor, field('rejectReason')), 'rejected');
  } catch (error) {
    const { reason, ...others } = problemsOf(error, ['reason']);
    const problems = { ...others, rejectReason: reason };
    return { kind: 'unfinished', decision: { dialog: 'reject', problems, forceable: false } };
  }
}

function ofDecision({ kind, refund }: DecisionOutcome, word: DoneWord): DecisionResult {
  if (kind === 'done') return { kind: 'done', word };
  if (kind === 'flagged') {
    return { kind: 'too-late', message: 'The refund is flagged. Resolve the flag before you approve it.' };
  }
  const status = statusWords[refund.status].toLowerCase();
  return {
    kind: 'too-late',
    message: `The refund is no longer awaiting approval: it is ${status}. See the timeline.`,
  };
}

async function cancel(deps: ApiDependencies, { refund, actor }: DecisionRequest): Promise<DecisionResult> {
  const { organizationId, environment } = refund;
  const verdict = await cancelAndWait(
    deps,
    { refundId: refund.id, organizationId, environment, actor, idempotencyKey: null },
    deps.settings.CANCEL_WAIT_MS,
  );
  if (verdict.kind === 'cancelled') return { kind: 'done', word: 'cancelled' };
  if (verdict.kind === 'undecided') return { kind: 'done', word: 'cancel-asked' };
  return { kind: 'too-late', message: whyNotCancelled(verdict) };
}

function whyNotCancelled({ refund: { status } }: CancelVerdict): string {
  if (status === 'processing') return 'The processor refused the cancellation. The refund continues.';
  if (status === 'cancelled') return 'The refund is already cancelled. See the timeline.';
  return `The refund is ${statusWords[status].toLowerCase()} and can no longer be cancelled.`;
}

async function recheck(deps: ApiDependencies, { refund, actor }: DecisionRequest): Promise<DecisionResult> {
  if (await recheckRefund(deps, refund, actor)) return { kind: 'done', word: 'rechecked' };
  return {
    kind: 'too-late',
    message: 'The refund awaits approval and has never been sent to its processor.',
  };
}
