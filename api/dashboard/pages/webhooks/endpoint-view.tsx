import { mayAct } from '#shared/access/roles.ts';
import type { WebhookEndpoint } from '#shared/platform/database.ts';
import { maxReplayed } from '#shared/webhooks/deliveries.ts';
import { type DisabledReason, type EndpointEvent, hostOf } from '#shared/webhooks/endpoint.ts';
import { Card, Facts } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Form, Post, useSubmitted } from '../../components/form.tsx';
import { SelectField } from '../../components/inputs.tsx';
import { Notice } from '../../components/notice.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { isForPart, useRequest } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import type { Choices } from '../../words/words.ts';
import { DeliveriesPart, type DeliveriesProps } from './delivery-list.tsx';
import { EndpointFields, eventWord } from './endpoint-form.tsx';
import { EndpointBadge } from './webhooks.tsx';

interface EndpointView {
  endpoint: WebhookEndpoint;
  /** The display name of who created it. */
  creator: string | null | undefined;
  deliveries: DeliveriesProps;
  /** How long deliveries are kept. */
  keptDays: number;
  now: Date;
}

/** The result of the last action. */
interface EndpointState {
  /** The new secret of a rotation. */
  secret?: string;
  /** How many deliveries were made due again. */
  recovered?: number;
}

/** An endpoint: what it is, its deliveries, and the forms that change it. To a script it sends its deliveries, which update themselves. */
export function Endpoint({ secret, recovered, ...view }: EndpointView & EndpointState) {
  const { endpoint, deliveries, keptDays } = view;
  const isAdmin = mayAct(useMember().role, 'admin');
  const request = useRequest();
  if (isForPart(request) && request.method === 'GET') return <DeliveriesPart {...deliveries} />;
  return (
    <Frame title={hostOf(endpoint.url)} section="webhooks" beside={<EndpointBadge endpoint={endpoint} />}>
      <div id="endpoint" class="stack">
        {secret && (
          <ShownOnce title="Secret rotated" text={secret} label="secret">
            <p>Give the new secret to your receiver now: you won't be able to see it again.</p>
          </ShownOnce>
        )}
        {recovered === undefined ? null : (
          <Notice tone="good">
            {recovered === 0
              ? 'Nothing was missed.'
              : `${inWhole(recovered)} ${recovered === 1 ? 'event is' : 'events are'} being sent.`}
          </Notice>
        )}
        <EndpointCard {...view} />
        <Card id="deliveries-title" title="Deliveries">
          <DeliveriesPart {...deliveries} />
        </Card>
        <div class="columns">
          {endpoint.status === 'enabled' ? <Recovery endpoint={endpoint} keptDays={keptDays} /> : null}
          {isAdmin ? <Rotation endpoint={endpoint} /> : null}
        </div>
        {isAdmin ? <Change endpoint={endpoint} /> : null}
      </div>
    </Frame>
  );
}

const disabledWords: Record<DisabledReason, string> = {
  requested: 'By a person or an API key.',
  gone: 'Because it replied 410 Gone. Repair it, then enable it.',
  failing: 'Because every attempt failed for five days. Repair it, then enable it.',
};

function EndpointCard({ endpoint, creator, now }: Pick<EndpointView, 'endpoint' | 'creator' | 'now'>) {
  const { url, description, events, disabledReason, failingSince, previousSecretExpiresAt } = endpoint;
  const isOverlapping = previousSecretExpiresAt !== null && previousSecretExpiresAt > now;
  return (
    <Card id="endpoint-title" title="Endpoint">
      <Facts
        facts={[
          ['URL', <Copyable key="url" text={url} label="URL" />],
          ['Description', description],
          ['Events', (events as EndpointEvent[]).map(eventWord).join(', ')],
          ['Disabled', disabledReason && disabledWords[disabledReason as DisabledReason]],
          ['Failing since', failingSince && <Moment at={failingSince} />],
          ['Earlier secrets sign until', isOverlapping ? <Moment at={previousSecretExpiresAt} /> : null],
          [
            'Created',
            <>
              <Moment at={endpoint.createdAt} /> {creator && `by ${creator}`}
            </>,
          ],
        ]}
      />
      <Actions endpoint={endpoint} />
    </Card>
  );
}

type EndpointProps = Pick<EndpointView, 'endpoint'>;

function Actions({ endpoint: { id, url, status } }: EndpointProps) {
  const isAdmin = mayAct(useMember().role, 'admin');
  const to = `/webhooks/${id}`;
  const isEnabled = status === 'enabled';
  return (
    <div class="row">
      {isEnabled ? <Post to={`${to}/test`}>Send test event</Post> : null}
      {isAdmin && !isEnabled ? (
        <Post to={`${to}/status`} values={{ status: 'enabled' }} kind="primary">
          Enable
        </Post>
      ) : null}
      {isAdmin && isEnabled ? (
        <Confirm
          {...{ id: 'disable', action: 'Disable', title: `Disable ${url}?`, kind: 'danger' }}
          to={`${to}/status`}
          values={{ status: 'disabled' }}
        >
          <p>Nothing more is sent. After you enable it again, you can send the events that it missed.</p>
        </Confirm>
      ) : null}
      {isAdmin ? (
        <Confirm id="delete" action="Delete" title={`Delete ${url}?`} kind="danger" to={`${to}/delete`}>
          <p>No more events are sent, and pending deliveries are dropped. This can't be undone.</p>
        </Confirm>
      ) : null}
    </div>
  );
}

function Recovery({ endpoint: { id }, keptDays }: EndpointProps & { keptDays: number }) {
  const choices: Choices = [...new Set([1, 3, 7, keptDays])]
    .filter((days) => days <= keptDays)
    .map((days) => [String(days), days === 1 ? 'The last day' : `The last ${days} days`]);
  return (
    <Form
      to={`/webhooks/${id}/recover`}
      answeredIn="endpoint"
      title="Send missed events"
      submit="Send missed events"
      isSecondary
    >
      <SelectField
        name="days"
        label="Missed in"
        choices={choices}
        hint={`Deliveries that failed, and events that were never sent because the endpoint was disabled. At most ${inWhole(maxReplayed)} of each at a time.`}
      />
    </Form>
  );
}

const overlaps: Choices = [
  ['86400', 'After a day'],
  ['3600', 'After an hour'],
  ['604800', 'After seven days'],
  ['0', 'Now, because it has leaked'],
];

function Rotation({ endpoint: { id } }: EndpointProps) {
  return (
    <Form
      to={`/webhooks/${id}/rotate-secret`}
      answeredIn="endpoint"
      title="Rotate secret"
      submit="Rotate secret"
      isSecondary
    >
      <SelectField
        name="overlapSeconds"
        label="The current secret expires"
        choices={overlaps}
        hint="Until then requests are signed with both secrets, so that you can replace it without losing events."
      />
    </Form>
  );
}

function Change({ endpoint }: EndpointProps) {
  const { id, url, description, events } = endpoint;
  const to = `/webhooks/${id}`;
  return (
    <details class="card more" open={useSubmitted(to) !== null}>
      <summary>Change the URL or the events</summary>
      <Form to={to} submit="Save" initial={{ url, description: description ?? '', events }}>
        <EndpointFields />
      </Form>
    </details>
  );
}
