import type { ComponentChildren } from 'preact';
import { mayAct } from '#shared/people/roles.ts';
import type { WebhookEndpoint } from '#shared/platform/database.ts';
import { maxReplayed } from '#shared/webhooks/deliveries.ts';
import type { DisabledReason, EndpointEvent } from '#shared/webhooks/endpoint.ts';
import { Submit } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { CsrfField, Form, type FormState, SelectField } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import type { Context } from '../../http/access.ts';
import { inWhole } from '../../words/numbers.ts';
import type { Choices } from '../../words/words.ts';
import { ShownOnce } from '../settings/settings-frame.tsx';
import { DeliveriesPart, type DeliveriesProps } from './delivery-list.tsx';
import { EndpointFields, eventWord } from './endpoint-form.tsx';

export interface EndpointView {
  context: Context;
  endpoint: WebhookEndpoint;
  /** The display name of who created it. */
  creator: string | null;
  deliveries: DeliveriesProps;
  /** How long deliveries are kept. */
  keptDays: number;
  now: Date;
}

/** The result of the last action. */
export interface EndpointState {
  /** The new secret of a rotation. */
  secret?: string;
  /** How many deliveries were made due again. */
  recovered?: number;
  /** A change with problems. */
  form?: FormState;
}

/** An endpoint: what it is, its deliveries, and the forms that change it. */
export function Endpoint({ secret, recovered, form, ...view }: EndpointView & EndpointState) {
  const { context, endpoint, deliveries } = view;
  return (
    <div id="endpoint" class="stack">
      {secret === undefined ? null : (
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
        {endpoint.status === 'enabled' ? <Recovery {...view} /> : null}
        {mayAct(context.role, 'admin') ? <Rotation {...view} /> : null}
      </div>
      {mayAct(context.role, 'admin') ? <Change {...view} form={form} /> : null}
    </div>
  );
}

const disabledWords: Record<DisabledReason, string> = {
  requested: 'Disabled by a person or an API key.',
  gone: 'Disabled because it replied 410 Gone. Repair it, then enable it.',
  failing: 'Disabled because every attempt failed for five days. Repair it, then enable it.',
};

function EndpointCard({ context, endpoint, creator, now }: EndpointView) {
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
              <Moment at={endpoint.createdAt} /> {creator === null ? null : `by ${creator}`}
            </>,
          ],
        ]}
      />
      <Actions context={context} endpoint={endpoint} />
    </Card>
  );
}

function Actions({ context, endpoint: { id, url, status } }: Pick<EndpointView, 'context' | 'endpoint'>) {
  const isAdmin = mayAct(context.role, 'admin');
  const to = `/webhooks/${id}`;
  const isEnabled = status === 'enabled';
  return (
    <div class="row">
      {isEnabled ? (
        <Post context={context} to={`${to}/test`}>
          <Submit>Send test event</Submit>
        </Post>
      ) : null}
      {isAdmin && !isEnabled ? (
        <Post context={context} to={`${to}/status`}>
          <input type="hidden" name="status" value="enabled" />
          <Submit kind="primary">Enable</Submit>
        </Post>
      ) : null}
      {isAdmin && isEnabled ? (
        <Confirm
          id="disable"
          action="Disable"
          title={`Disable ${url}?`}
          kind="danger"
          context={context}
          to={`${to}/status`}
        >
          <p>Nothing more is sent. After you enable it again, you can send the events that it missed.</p>
          <input type="hidden" name="status" value="disabled" />
        </Confirm>
      ) : null}
      {isAdmin ? (
        <Confirm
          id="delete"
          action="Delete"
          title={`Delete ${url}?`}
          kind="danger"
          context={context}
          to={`${to}/delete`}
        >
          <p>Nothing more is sent, also not what is pending. This can't be undone.</p>
        </Confirm>
      ) : null}
    </div>
  );
}

/** A button's form. @param props.to below the environment. */
export function Post({
  context,
  to,
  children,
}: {
  context: Context;
  to: string;
  children: ComponentChildren;
}) {
  return (
    <form method="post" action={`${context.base}${to}`}>
      <CsrfField token={context.csrfToken} />
      {children}
    </form>
  );
}

function Recovery({ context: { base, csrfToken }, endpoint: { id }, keptDays }: EndpointView) {
  const choices: Choices = [...new Set([1, 3, 7, keptDays])]
    .filter((days) => days <= keptDays)
    .map((days) => [String(days), days === 1 ? 'The last day' : `The last ${days} days`]);
  return (
    <Form
      csrfToken={csrfToken}
      to={`${base}/webhooks/${id}/recover`}
      answeredIn="endpoint"
      title="Send what was missed"
      submit="Send missed events"
    >
      <SelectField
        form={undefined}
        name="days"
        label="Of"
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

function Rotation({ context: { base, csrfToken }, endpoint: { id } }: EndpointView) {
  return (
    <Form
      csrfToken={csrfToken}
      to={`${base}/webhooks/${id}/rotate-secret`}
      answeredIn="endpoint"
      title="Rotate the secret"
      submit="Rotate secret"
    >
      <SelectField
        form={undefined}
        name="overlapSeconds"
        label="The current secret ends"
        choices={overlaps}
        hint="Until then requests are signed with both secrets, so that you can replace it without losing events."
      />
    </Form>
  );
}

function Change({ context, endpoint, form }: EndpointView & { form: FormState | undefined }) {
  const { id, url, description, events } = endpoint;
  const shown = form ?? { body: { url, description: description ?? '', events }, problems: {} };
  return (
    <details class="more" open={form !== undefined}>
      <summary>Change the URL or the events</summary>
      <Form csrfToken={context.csrfToken} to={`${context.base}/webhooks/${id}`} form={shown} submit="Save">
        <EndpointFields form={shown} />
      </Form>
    </details>
  );
}
