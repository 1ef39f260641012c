import type { ComponentChildren } from 'preact';
import { z } from 'zod';
import { remainingOf } from '../../../../shared/payments/payment.ts';
import { mayAct } from '../../../../shared/people/roles.ts';
import type { RefundEventType } from '../../../../shared/refunds/model/event-types.ts';
import { isTerminal } from '../../../../shared/refunds/model/states.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { Live } from '../../layout/live.tsx';
import { Notice } from '../../layout/notice.tsx';
import { inMoney } from '../../layout/numbers.ts';
import { processorWord } from '../../layout/words.ts';
import { Decisions } from './decision-dialogs.tsx';
import { doneSentence, type UnfinishedDecision } from './decision-result.ts';
import { Alerts, Metadata, PaymentFacts, RefundFacts } from './facts.tsx';
import { type RefundDetail, readDetail } from './read-detail.ts';
import { Timeline } from './timeline.tsx';

const viewer = { config: { role: 'viewer' as const } };
const paramsSchema = z.object({ id: z.string() });

/** `/refunds/:id`: one refund with its payment and timeline. */
export function detailPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/refunds/:id', viewer, async (request, reply) => {
    const context = contextOf(request);
    const detail = await readDetail(deps, context, paramsSchema.parse(request.params).id);
    const done = doneSentence(entered(request.query, 'done'));
    const notice = done === null ? null : <Notice tone="good">{done}</Notice>;
    return sendPage(reply, <Detail context={context} detail={detail} notice={notice} />);
  });

  scope.get('/refunds/:id/state', viewer, async (request, reply) => {
    const context = contextOf(request);
    const detail = await readDetail(deps, context, paramsSchema.parse(request.params).id);
    return sendPart(reply, <State context={context} detail={detail} unfinished={null} />);
  });
}

interface DetailProps {
  context: Context;
  detail: RefundDetail;
  /** The result of the last action. */
  notice?: ComponentChildren;
  /** An action whose form has problems. */
  unfinished?: UnfinishedDecision | null;
}

export function Detail({ context, detail, notice = null, unfinished = null }: DetailProps) {
  const { amount, currency } = detail.refund;
  return (
    <Frame context={context} title={`Refund of ${inMoney(amount, currency)}`} section="refunds">
      <div class="stack">
        {notice}
        <State context={context} detail={detail} unfinished={unfinished} />
      </div>
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

interface StateProps {
  context: Context;
  detail: RefundDetail;
  unfinished: UnfinishedDecision | null;
}

function State({ context, detail, unfinished }: StateProps) {
  const { refund, payment, events, names, approvalRefusal } = detail;
  const [first] = events;
  const who = first === undefined ? null : (names.get(first.actor) ?? null);
  const isUncertain = refund.work?.flaggedAt != null || isUncertainAfter(events);
  // A finished refund may change again after a resync.
  const isMoving = !isTerminal(refund.status) || refund.work?.dueAt != null;
  return (
    <Live id="state" from={`${context.base}/refunds/${refund.id}/state`} everySeconds={isMoving ? 2 : null}>
      <div class="stack">
        <Alerts refund={refund} isUncertain={isUncertain} />
        <Decisions
          context={context}
          refund={refund}
          unfinished={unfinished}
          approvalRefusal={approvalRefusal}
        />
        <div class="columns">
          <RefundFacts refund={refund} who={who} />
          <PaymentFacts payment={payment} transactionId={refund.transactionId}>
            {/* The remaining amount is unknown while the outcome is uncertain. */}
            {isUncertain ? null : <RefundMore context={context} detail={detail} />}
          </PaymentFacts>
        </div>
        <Metadata metadata={refund.metadata} />
        <Timeline events={events} names={names} processor={processorWord(refund.processor)} />
      </div>
    </Live>
  );
}

function RefundMore({ context, detail: { refund, payment } }: { context: Context; detail: RefundDetail }) {
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
