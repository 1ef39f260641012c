import type { WebhookEndpoint } from '#shared/platform/database.ts';
import { attemptErrors, type DeliveryStatus, type PublicDelivery } from '#shared/webhooks/deliveries.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Link, Switch } from '../../components/button.tsx';
import { Post } from '../../components/form.tsx';
import { List, Pages } from '../../components/list.tsx';
import { Live } from '../../components/live.tsx';
import { Moment } from '../../components/values.tsx';
import { withQuery } from '../../http/paths.ts';

export interface DeliveriesProps {
  endpoint: WebhookEndpoint;
  status: DeliveryStatus | undefined;
  /** The cursors of this page and the next one. */
  cursor: string | null;
  next: string | null;
  deliveries: readonly PublicDelivery[];
}

/** A page of an endpoint's deliveries, newest first. The first one updates itself. */
export function DeliveriesPart({ endpoint, status, cursor, next, deliveries }: DeliveriesProps) {
  const path = `/webhooks/${endpoint.id}`;
  return (
    <Live
      id="deliveries"
      from={withQuery(path, { status, cursor })}
      everySeconds={cursor === null ? 5 : null}
    >
      <div class="stack">
        <Switch
          label="Status of deliveries"
          links={[undefined, 'pending', 'succeeded', 'failed'].map((each) => ({
            to: withQuery(path, { status: each }),
            text: each === undefined ? 'All' : deliveryWords[each as DeliveryStatus].word,
            isCurrent: each === status,
          }))}
        />
        {deliveries.length === 0 ? (
          <p class="muted">
            {status === undefined ? 'Nothing was sent yet.' : 'No deliveries with this status.'}
          </p>
        ) : (
          <DeliveryTable endpoint={endpoint} deliveries={deliveries} />
        )}
        <Pages to={path} filter={{ status }} cursor={cursor} older={next} />
      </div>
    </Live>
  );
}

interface TableProps {
  endpoint: WebhookEndpoint;
  deliveries: readonly PublicDelivery[];
}

function DeliveryTable({ endpoint, deliveries }: TableProps) {
  const path = `/webhooks/${endpoint.id}/deliveries`;
  return (
    <List
      caption="Deliveries, newest first"
      isInCard
      items={deliveries}
      columns={[
        [
          'Event',
          ({ id, type }) => (
            <Link class="row-link" to={`${path}/${id}`}>
              {type}
            </Link>
          ),
        ],
        ['Status', ({ status }) => <DeliveryBadge status={status} />],
        [
          'Last attempt',
          ({ attempts }) => {
            const last = attempts.at(-1);
            return last === undefined ? null : <Moment at={new Date(last.startedAt)} />;
          },
        ],
        [
          'Response',
          ({ attempts }) => {
            const { responseStatus = null, error = null } = attempts.at(-1) ?? {};
            return responseStatus ?? (error && (attemptErrors[error] ?? error));
          },
        ],
        ['Attempts', ({ attempts }) => String(attempts.length), 'number'],
        [
          'Next attempt',
          ({ nextAttemptAt }) => (nextAttemptAt === null ? null : <Moment at={new Date(nextAttemptAt)} />),
        ],
        [
          'Actions',
          ({ id, status }) =>
            status === 'failed' && endpoint.status === 'enabled' ? (
              <Post to={`${path}/${id}/retry`}>Resend</Post>
            ) : null,
          'actions',
        ],
      ]}
    />
  );
}

const deliveryWords: Record<DeliveryStatus, { word: string; tone: Tone }> = {
  pending: { word: 'Pending', tone: 'wait' },
  succeeded: { word: 'Succeeded', tone: 'good' },
  failed: { word: 'Failed', tone: 'bad' },
};

export function DeliveryBadge({ status }: { status: DeliveryStatus }) {
  const { word, tone } = deliveryWords[status];
  return <Badge tone={tone}>{word}</Badge>;
}
