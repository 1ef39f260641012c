import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { nameActors } from '#shared/audit/actors.ts';
import type { WebhookEndpoint } from '#shared/platform/database.ts';
import type { EndpointEvent } from '#shared/webhooks/endpoint.ts';
import {
  createEndpoint,
  type EndpointWithSecret,
  listEndpoints,
  maxEndpoints,
} from '#shared/webhooks/manage-endpoints.ts';
import { Badge } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { Form } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { Made } from '../../components/values.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { problemsOf } from '../../http/forms.ts';
import { page } from '../../http/page.ts';
import { Frame } from '../../layout/frame.tsx';
import { EndpointFields, endpointSchema, eventWord } from './endpoint-form.tsx';

/** `/webhooks`: the webhook endpoints of the environment, and a form for a new one. */
export function webhookPages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { owner } = contextOf(request);
    const endpoints = await listEndpoints(deps.db, owner);
    const creators = endpoints.flatMap(({ createdBy }) => createdBy ?? []);
    return { endpoints, names: await nameActors(deps.db, owner.organizationId, creators) };
  };
  const webhooks = page(scope, '/webhooks', 'operator', read, Webhooks);
  webhooks.form(
    '/webhooks',
    confirmed('admin'),
    endpointSchema(deps.settings),
    async (request, entries) => ({
      created: await createEndpoint(deps, { ...actingIn(request), ...entries }),
    }),
    { problemsIn: (error) => problemsOf(error, []) },
  );
}

interface WebhooksProps {
  endpoints: readonly WebhookEndpoint[];
  /** The display names of those who created them. */
  names: ReadonlyMap<string, string>;
  /** An endpoint that was just created. */
  created?: EndpointWithSecret;
}

function Webhooks({ endpoints, names, created }: WebhooksProps) {
  const { environment, role } = useMember();
  return (
    <Frame title="Webhooks" section="webhooks">
      <div id="webhooks" class="stack">
        {created && (
          <ShownOnce title="Webhook endpoint created" text={created.secret} label="secret">
            <p>
              Verify signatures with this secret. Store it now: you won't be able to see it again. Then{' '}
              <Link to={`/webhooks/${created.endpoint.id}`}>send a test event</Link>.
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
          <EndpointList {...{ endpoints, names }} />
        )}
        {mayAct(role, 'admin') && endpoints.length < maxEndpoints ? (
          <Form
            to="/webhooks"
            answeredIn="webhooks"
            title={`New ${environment} endpoint`}
            submit="Create endpoint"
            initial={{ events: ['*'] }}
          >
            <EndpointFields />
          </Form>
        ) : null}
      </div>
    </Frame>
  );
}

function EndpointList({ endpoints, names }: Pick<WebhooksProps, 'endpoints' | 'names'>) {
  return (
    <List
      caption="Webhook endpoints, newest first"
      items={endpoints}
      columns={[
        [
          'URL',
          ({ id, url, description }) => (
            <>
              <Link class="row-link said" to={`/webhooks/${id}`}>
                {url}
              </Link>
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
          ({ createdAt, createdBy }) => <Made at={createdAt} by={createdBy && names.get(createdBy)} />,
        ],
      ]}
    />
  );
}

/** Whether an endpoint is sent anything, and accepts it. */
export function EndpointBadge({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { status, disabledReason, failingSince } = endpoint;
  if (status === 'disabled') {
    return <Badge tone={disabledReason === 'requested' ? 'quiet' : 'bad'}>Disabled</Badge>;
  }
  return failingSince === null ? <Badge tone="good">Enabled</Badge> : <Badge tone="warn">Failing</Badge>;
}
