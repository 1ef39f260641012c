import type { ComponentChildren } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { remainingOf } from '#shared/payments/payment.ts';
import { nameActors } from '#shared/people/actors.ts';
import { mayAct } from '#shared/people/roles.ts';
import type { Payment, RefundEvent } from '#shared/platform/database.ts';
import { readDecision } from '#shared/policies/decision.ts';
import { readApprovalRefusal } from '#shared/refunds/decisions/four-eyes.ts';
import { openAttempt } from '#shared/refunds/model/attempts.ts';
import type { RefundEventType } from '#shared/refunds/model/event-types.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { Live } from '../../components/live.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { idInPath } from '../../http/paths.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { inMoney } from '../../words/numbers.ts';
import { processorWord } from '../../words/words.ts';
import { Alerts } from './alerts.tsx';
import { Decisions, type UnfinishedDecision } from './decision-dialogs.tsx';
import { Metadata, PaymentFacts, RefundFacts } from './facts.tsx';
import { Timeline } from './timeline.tsx';

const viewer = { config: { role: 'viewer' as const } };

/** `/refunds/:id`: one refund with its payment and timeline. */
export function refundPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/refunds/:id', viewer, async (request, reply) => {
    const context = contextOf(request);
    const detail = await readDetail(deps, context, idInPath(request, 'id', 'ref'));
    return sendPage(reply, <Detail context={context} detail={detail} />);
  });

  scope.get('/refunds/:id/state', viewer, async (request, reply) => {
    const context = contextOf(request);
    const detail = await readDetail(deps, context, idInPath(request, 'id', 'ref'));
    return sendPart(reply, <State context={context} detail={detail} />);
  });
}

/** The content of a refund's page. */
interface RefundDetail {
  refund: RefundWithWork;
  payment: Payment;
  /** Oldest first. */
  events: readonly RefundEvent[];
  /** The display names of the events' actors. */
  names: ReadonlyMap<string, string>;
  /** Why the user may not approve it; null when they may, or when it does not await approval. */
  approvalRefusal: string | null;
}

/** @throws ServiceError not_found for a refund of another organization or environment. */
export async function readDetail(
  deps: Pick<ApiDependencies, 'db' | 'clock'>,
  context: Context,
  id: string,
): Promise<RefundDetail> {
  const { db } = deps;
  const refund = await findOwnRefund(db, context.owner, id);
  const [payment, events] = await Promise.all([
    db.payment.findUniqueOrThrow({ where: { id: refund.paymentId } }),
    db.refundEvent.findMany({ where: { refundId: id }, orderBy: { seq: 'asc' } }),
  ]);
  const { organizationId } = context.owner;
  const names = await nameActors(
    db,
    organizationId,
    events.map(({ actor }) => actor),
  );
  const [requested] = events;
  const isPending = refund.status === 'pending' && requested !== undefined;
  const approvalRefusal = isPending
    ? await readApprovalRefusal(deps, refund, requested.actor, context.actor)
    : null;
  return { refund, payment, events, names, approvalRefusal };
}

interface DetailProps {
  context: Context;
  detail: RefundDetail;
  /** Why the last action did nothing. */
  notice?: ComponentChildren;
  /** An action whose form has problems. */
  unfinished?: UnfinishedDecision | null | undefined;
}

export function Detail({ context, detail, notice, unfinished }: DetailProps) {
  const { amount, currency } = detail.refund;
  return (
    <Frame context={context} title={`Refund of ${inMoney(amount, currency)}`} section="refunds">
      {notice}
      <State context={context} detail={detail} unfinished={unfinished} />
    </Frame>
  );
}

/** After these events it is uncertain whether money moved, until a review agrees. */
const uncertainEvents: ReadonlySet<string> = new Set<RefundEventType>([
  'review.flagged',
  'flag.dismissed',
  'reconciliation.flagged',
]);

/** @param events in their order. */
function isUncertainAfter(events: RefundDetail['events']): boolean {
  const agreement: RefundEventType = 'review.agreed';
  const agreedAt = events.findLastIndex(({ type }) => type === agreement);
  return events.slice(agreedAt + 1).some(({ type }) => uncertainEvents.has(type));
}

function State({ context, detail, unfinished = null }: DetailProps) {
  const { refund, payment, events, names, approvalRefusal } = detail;
  const [first] = events;
  const who = first === undefined ? null : (names.get(first.actor) ?? null);
  const isUncertain = refund.work?.flaggedAt != null || isUncertainAfter(events);
  // A finished refund may change again after a resync.
  const isMoving = !isTerminal(refund.status) || refund.work?.dueAt != null;
  return (
    <Live id="state" from={`${context.base}/refunds/${refund.id}/state`} everySeconds={isMoving ? 2 : null}>
      <div class="stack">
        <Alerts {...{ refund, isUncertain }} decision={readDecision(first?.detail)} />
        <Decisions {...{ context, refund, unfinished, approvalRefusal }} />
        <div class="columns">
          <RefundFacts refund={refund} who={who} />
          <PaymentFacts payment={payment} transactionId={refund.transactionId}>
            {/* The remaining amount is unknown while the outcome is uncertain. */}
            {isUncertain ? null : <RefundMore context={context} detail={detail} />}
          </PaymentFacts>
        </div>
        <Metadata metadata={refund.metadata} />
        <Timeline
          events={events}
          open={openAttempt(refund.work)}
          names={names}
          processor={processorWord(refund.processor)}
        />
      </div>
    </Live>
  );
}

function RefundMore({ context, detail: { refund, payment } }: Pick<DetailProps, 'context' | 'detail'>) {
  const left = remainingOf(payment);
  if (left === null || left <= 0n || !mayAct(context.role, 'operator')) return null;
  const { transactionId, processor } = refund;
  const known = new URLSearchParams({ transactionId, processor, currency: payment.currency ?? '' });
  return (
    <p>
      <a href={`${context.base}/refunds/new?${known}`}>Refund more</a>
    </p>
  );
}
