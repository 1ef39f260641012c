import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import type { WebhookEndpoint } from '#shared/platform/database.ts';
import { attemptErrors } from '#shared/webhooks/attempt-error.ts';
import { type DeliveryWithBody, findDelivery, retryDelivery } from '#shared/webhooks/deliveries.ts';
import { findEndpoint, hostOf } from '#shared/webhooks/endpoint.ts';
import { Submit } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { List } from '../../components/list.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { idInPath } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import { DeliveryBadge } from './delivery-list.tsx';
import { endpointOf } from './endpoint.tsx';
import { Post } from './endpoint-view.tsx';

const path = '/webhooks/:endpointId/deliveries/:deliveryId';
const operator = { config: { role: 'operator' as const } };

/** A delivery: its body and its attempts, and a button to resend it. */
export function deliveryPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, operator, async (request, reply) => {
    const context = contextOf(request);
    const { endpointId } = endpointOf(request);
    const deliveryId = idInPath(request, 'deliveryId', 'del');
    const endpoint = await findEndpoint(deps.db, context.owner, endpointId);
    const delivery = await findDelivery(deps.db, context.owner, { endpointId, deliveryId });
    return sendPage(reply, <DeliveryPage {...{ context, endpoint, delivery }} />);
  });

  scope.post(`${path}/retry`, operator, async (request, reply) => {
    const endpoint = endpointOf(request);
    const deliveryId = idInPath(request, 'deliveryId', 'del');
    await retryDelivery(deps, { ...endpoint, deliveryId });
    const page = `${contextOf(request).base}/webhooks/${endpoint.endpointId}/deliveries/${deliveryId}`;
    return reply.redirect(doneAt(page, 'delivery-resent'), 303);
  });
}

interface DeliveryPageProps {
  context: Context;
  endpoint: WebhookEndpoint;
  delivery: DeliveryWithBody;
}

function DeliveryPage({ context, endpoint, delivery }: DeliveryPageProps) {
  const address = `/webhooks/${endpoint.id}`;
  return (
    <Frame
      context={context}
      title={delivery.type}
      section="webhooks"
      trail={[[hostOf(endpoint.url), address]]}
      beside={<DeliveryBadge status={delivery.status} />}
      actions={
        endpoint.status === 'enabled' ? (
          <Post context={context} to={`${address}/deliveries/${delivery.id}/retry`}>
            <Submit kind="primary">Resend</Submit>
          </Post>
        ) : undefined
      }
    >
      <DeliveryFacts {...{ context, delivery }} />
      <Card id="attempts" title="Attempts">
        <Attempts attempts={delivery.attempts} />
      </Card>
      <Card id="body" title="Body">
        <pre>{JSON.stringify(delivery.body, null, 2)}</pre>
      </Card>
    </Frame>
  );
}

function DeliveryFacts({ context, delivery }: Pick<DeliveryPageProps, 'context' | 'delivery'>) {
  const { id, eventId, refundId, createdAt, nextAttemptAt } = delivery;
  return (
    <Card id="delivery" title="Delivery">
      <Facts
        facts={[
          ['Delivery', <Copyable key="id" text={id} label="delivery ID" />],
          ['Event', <Copyable key="event" text={eventId} label="event ID" />],
          ['Refund', refundId && <a href={`${context.base}/refunds/${refundId}`}>{refundId}</a>],
          ['Created', <Moment key="created" at={createdAt} />],
          ['Next attempt', nextAttemptAt && <Moment at={new Date(nextAttemptAt)} />],
        ]}
      />
    </Card>
  );
}

function Attempts({ attempts }: Pick<DeliveryWithBody, 'attempts'>) {
  if (attempts.length === 0) return <p class="muted">Waiting for the first attempt.</p>;
  return (
    <List
      caption="Attempts, newest first"
      isInCard
      items={attempts.toReversed()}
      columns={[
        ['Started', ({ startedAt }) => <Moment at={new Date(startedAt)} />],
        [
          'Result',
          ({ responseStatus, error, durationMs }) => (
            <>
              {responseStatus === null ? null : <code>{responseStatus} </code>}
              {error === null
                ? durationMs === null
                  ? 'Under way'
                  : 'Accepted'
                : (attemptErrors[error] ?? error)}
            </>
          ),
        ],
        [
          'Duration',
          ({ durationMs }) => (durationMs === null ? null : `${inWhole(durationMs)} ms`),
          'number',
        ],
        ['Response', ({ responseBody }) => (responseBody ? <pre class="small">{responseBody}</pre> : null)],
      ]}
    />
  );
}
