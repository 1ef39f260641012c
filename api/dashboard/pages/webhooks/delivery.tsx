import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import type { WebhookEndpoint } from '#shared/platform/database.ts';
import {
  attemptErrors,
  type DeliveryWithBody,
  findDelivery,
  retryDelivery,
} from '#shared/webhooks/deliveries.ts';
import { findEndpoint, hostOf } from '#shared/webhooks/endpoint.ts';
import { Link } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Post } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Live } from '../../components/live.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { contextOf } from '../../http/access.ts';
import { page } from '../../http/page.ts';
import { idInPath } from '../../http/paths.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import { DeliveryBadge } from './delivery-list.tsx';
import { endpointOf } from './endpoint.tsx';

const path = '/webhooks/:endpointId/deliveries/:deliveryId';

/** A delivery: its body and its attempts, which update themselves, and a button to resend it. */
export function deliveryPages(scope: Api, deps: ApiDependencies): void {
  const deliveryOf = (request: FastifyRequest) => ({
    ...endpointOf(request),
    deliveryId: idInPath(request, 'deliveryId', 'del'),
  });

  const read = async (request: FastifyRequest) => {
    const { owner } = contextOf(request);
    const ids = deliveryOf(request);
    const endpoint = await findEndpoint(deps.db, owner, ids.endpointId);
    return { endpoint, delivery: await findDelivery(deps.db, owner, ids) };
  };
  const delivery = page(scope, path, 'operator', read, DeliveryPage);
  delivery.button(`${path}/retry`, 'operator', async (request) => {
    await retryDelivery(deps, deliveryOf(request));
    return 'delivery-resent';
  });
}

interface DeliveryPageProps {
  endpoint: WebhookEndpoint;
  delivery: DeliveryWithBody;
}

function DeliveryPage({ endpoint, delivery }: DeliveryPageProps) {
  const { id, type, status, eventId, refundId, createdAt, nextAttemptAt, attempts, body } = delivery;
  const address = `/webhooks/${endpoint.id}`;
  return (
    <Frame
      title={type}
      section="webhooks"
      trail={[[hostOf(endpoint.url), address]]}
      actions={
        endpoint.status === 'enabled' ? (
          <Post to={`${address}/deliveries/${id}/retry`} kind="primary">
            Resend
          </Post>
        ) : undefined
      }
    >
      <Live id="state" from={`${address}/deliveries/${id}`} everySeconds={status === 'pending' ? 2 : null}>
        <div class="stack">
          <Card id="delivery" title="Delivery">
            <Facts
              facts={[
                ['Status', <DeliveryBadge key="status" status={status} />],
                ['Delivery', <Copyable key="id" text={id} label="delivery ID" />],
                ['Event', <Copyable key="event" text={eventId} label="event ID" />],
                ['Refund', refundId && <Link to={`/refunds/${refundId}`}>{refundId}</Link>],
                ['Created', <Moment key="created" at={createdAt} />],
                ['Next attempt', nextAttemptAt && <Moment at={new Date(nextAttemptAt)} />],
              ]}
            />
          </Card>
          <Card id="attempts" title="Attempts">
            <Attempts attempts={attempts} />
          </Card>
          <Card id="body" title="Body">
            <pre>{JSON.stringify(body, null, 2)}</pre>
          </Card>
        </div>
      </Live>
    </Frame>
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
            <span>
              {responseStatus === null ? null : <code>{responseStatus} </code>}
              {error === null && (durationMs === null ? 'Under way' : 'Accepted')}
              {error !== null && (attemptErrors[error] ?? error)}
            </span>
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
