import type { ComponentChildren } from 'preact';
import { z } from 'zod';
import { isTerminal } from '../../../../shared/refunds/states.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import type { Api } from '../../../route.ts';
import { type Context, contextOf } from '../../access.ts';
import { Frame } from '../../layout/frame.tsx';
import { Live } from '../../layout/live.tsx';
import { sendPage, sendPart } from '../../render.ts';
import { Alerts, Metadata, PaymentFacts, RefundFacts } from './facts.tsx';
import { type RefundDetail, readDetail } from './read-detail.ts';
import { Timeline } from './timeline.tsx';

const viewer = { config: { role: 'viewer' as const } };
const paramsSchema = z.object({ id: z.string() });

/** `/refunds/:id`: one refund, its payment and everything that has happened to it. */
export function detailPages(room: Api, deps: ApiDependencies): void {
  room.get('/refunds/:id', viewer, async (request, reply) => {
    const context = contextOf(request);
    const detail = await readDetail(deps, context, paramsSchema.parse(request.params).id);
    return sendPage(reply, <Detail context={context} detail={detail} />);
  });

  room.get('/refunds/:id/state', viewer, async (request, reply) => {
    const context = contextOf(request);
    const detail = await readDetail(deps, context, paramsSchema.parse(request.params).id);
    return sendPart(reply, <State context={context} detail={detail} />);
  });
}

interface DetailProps {
  context: Context;
  detail: RefundDetail;
  /** What came of what somebody has just done. */
  children?: ComponentChildren;
}

/** The whole page. */
export function Detail({ context, detail, children }: DetailProps) {
  return (
    <Frame context={context} title="Refund" room="refunds">
      <div class="stack">
        {children}
        <State context={context} detail={detail} />
      </div>
    </Frame>
  );
}

function State({ context, detail }: Omit<DetailProps, 'children'>) {
  const { refund, payment, events, names } = detail;
  const [first] = events;
  const who = first === undefined ? null : (names.get(first.actor) ?? null);
  const isMoving = !isTerminal(refund.status);
  return (
    <Live id="state" from={`${context.base}/refunds/${refund.id}/state`} everySeconds={isMoving ? 2 : null}>
      <div class="stack">
        <Alerts refund={refund} />
        <div class="columns">
          <RefundFacts refund={refund} who={who} />
          <PaymentFacts payment={payment} />
        </div>
        <Metadata metadata={refund.metadata} />
        <Timeline events={events} names={names} />
      </div>
    </Live>
  );
}
