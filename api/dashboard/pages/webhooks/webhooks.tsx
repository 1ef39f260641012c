import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/people/actors.ts';
import { mayAct } from '#shared/people/roles.ts';
import type { WebhookEndpoint } from '#shared/platform/database.ts';
import type { EndpointEvent } from '#shared/webhooks/endpoint.ts';
import {
  createEndpoint,
  type EndpointWithSecret,
  listEndpoints,
  maxEndpoints,
} from '#shared/webhooks/manage-endpoints.ts';
import { Badge } from '../../components/badge.tsx';
import { Form, type FormState } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { problemsOf } from '../../http/forms.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { ShownOnce } from '../settings/settings-frame.tsx';
import { EndpointFields, eventWord, readEndpointForm } from './endpoint-form.tsx';

/** `/webhooks`: the webhook endpoints of the environment, and a form for a new one. */
export function webhookPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/webhooks', { config: { role: 'operator' } }, (request, reply) =>
    show(deps, request, reply, {}),
  );

  scope.post('/webhooks', { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const { owner, actor } = contextOf(request);
    const { body } = request;
    const form = readEndpointForm(body, deps.settings.NODE_ENV === 'production');
    if (form.kind === 'invalid') {
      return await show(deps, request, reply.code(400), { form: { body, problems: form.problems } });
    }
    try {
      const created = await createEndpoint(deps, { ...owner, ...form.value, actor });
      return await show(deps, request, reply, { created });
    } catch (error) {
      return await show(deps, request, reply.code(400), { form: { body, problems: problemsOf(error, []) } });
    }
  });
}

/** The result of the last action. */
interface State {
  /** An endpoint that was just created. */
  created?: EndpointWithSecret;
  form?: FormState;
}

async function show(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  state: State,
): Promise<FastifyReply> {
  const context = contextOf(request);
  const endpoints = await listEndpoints(deps.db, context.owner);
  const creators = endpoints.flatMap(({ createdBy }) => createdBy ?? []);
  const names = await nameActors(deps.db, context.organization.id, creators);
  const part = <Webhooks {...{ context, endpoints, names }} {...state} />;
  if (request.headers['hx-request'] === 'true') return sendPart(reply, part);
  return sendPage(
    reply,
    <Frame context={context} title="Webhooks" section="webhooks">
      {part}
    </Frame>,
  );
}

interface WebhooksProps extends State {
  context: Context;
  endpoints: readonly WebhookEndpoint[];
  /** The display names of those who created them. */
  names: ReadonlyMap<string, string>;
}

const newForm: FormState = { body: { events: ['*'] }, problems: {} };

function Webhooks({ context, endpoints, names, created, form = newForm }: WebhooksProps) {
  const { environment, role, base, csrfToken } = context;
  return (
    <div id="webhooks" class="stack">
      {created === undefined ? null : (
        <ShownOnce title="Webhook endpoint created" text={created.secret} label="secret">
          <p>
            Verify signatures with this secret. Store it now: you won't be able to see it again. Then{' '}
            <a href={`${base}/webhooks/${created.endpoint.id}`}>send a test event</a>.
          </p>
        </ShownOnce>
      )}
      <p class="muted">
        Events of the {environment} environment are sent to these endpoints, signed. Failed deliveries are
        retried for about 28 hours.
      </p>
      {endpoints.length === 0 ? (
        <Empty title={`No ${environment} webhook endpoints`} icon="webhook">
          <p>Create one to be notified when a refund completes or fails.</p>
        </Empty>
      ) : (
        <EndpointList {...{ context, endpoints, names }} />
      )}
      {mayAct(role, 'admin') && endpoints.length < maxEndpoints ? (
        <Form
          {...{ csrfToken, form }}
          to={`${base}/webhooks`}
          answeredIn="webhooks"
          title={`New ${environment} endpoint`}
          submit="Create endpoint"
        >
          <EndpointFields form={form} />
        </Form>
      ) : null}
    </div>
  );
}

function EndpointList({ context, endpoints, names }: Pick<WebhooksProps, 'context' | 'endpoints' | 'names'>) {
  return (
    <List
      caption="Webhook endpoints, newest first"
      items={endpoints}
      columns={[
        [
          'URL',
          ({ id, url, description }) => (
            <>
              <a class="row-link said" href={`${context.base}/webhooks/${id}`}>
                {url}
              </a>
              <span class="detail small muted">{description}</span>
            </>
          ),
        ],
        [
          'Events',
          ({ events }) => <span class="small">{(events as EndpointEvent[]).map(eventWord).join(', ')}</span>,
        ],
        ['Status', (endpoint) => <EndpointBadge endpoint={endpoint} />],
        [
          'Created',
          ({ createdAt, createdBy }) => (
            <span>
              <Moment at={createdAt} />
              <span class="detail small muted">
                {createdBy === null ? null : `by ${names.get(createdBy)}`}
              </span>
            </span>
          ),
        ],
      ]}
    />
  );
}

/** Whether an endpoint is sent anything, and accepts it. */
export function EndpointBadge({
  endpoint: { status, disabledReason, failingSince },
}: {
  endpoint: WebhookEndpoint;
}) {
  if (status === 'disabled') {
    return <Badge tone={disabledReason === 'requested' ? 'quiet' : 'bad'}>Disabled</Badge>;
  }
  return failingSince === null ? <Badge tone="good">Enabled</Badge> : <Badge tone="warn">Failing</Badge>;
}
