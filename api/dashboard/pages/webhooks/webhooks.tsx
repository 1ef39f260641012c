import type { FastifyReply } from 'fastify';
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
import { Form } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { Made } from '../../components/values.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import { answerForm, type FormState, problemsOf } from '../../http/forms.ts';
import { Frame } from '../../layout/frame.tsx';
import { ShownOnce } from '../settings/settings-frame.tsx';
import { EndpointFields, endpointSchema, eventWord, inSentences } from './endpoint-form.tsx';

/** `/webhooks`: the webhook endpoints of the environment, and a form for a new one. */
export function webhookPages(scope: Api, deps: ApiDependencies): void {
  const show = async (reply: FastifyReply, state: State) => {
    const { owner } = contextOf(reply.request);
    const endpoints = await listEndpoints(deps.db, owner);
    const creators = endpoints.flatMap(({ createdBy }) => createdBy ?? []);
    const names = await nameActors(deps.db, owner.organizationId, creators);
    return reply.send(
      <Frame title="Webhooks" section="webhooks">
        <Webhooks {...{ endpoints, names }} {...state} />
      </Frame>,
    );
  };

  scope.get('/webhooks', needs('operator'), (_request, reply) => show(reply, {}));

  scope.post('/webhooks', needs('admin', 'confirmed'), (request, reply) =>
    answerForm(reply, {
      schema: endpointSchema(deps.settings),
      problemsIn: (error) => problemsOf(error, []),
      again: (form) => show(reply, { form: inSentences(form) }),
      run: async (entries) => {
        return await show(reply, {
          created: await createEndpoint(deps, { ...actingIn(request), ...entries }),
        });
      },
    }),
  );
}

/** The result of the last action. */
interface State {
  /** An endpoint that was just created. */
  created?: EndpointWithSecret;
  form?: FormState;
}

interface WebhooksProps extends State {
  endpoints: readonly WebhookEndpoint[];
  /** The display names of those who created them. */
  names: ReadonlyMap<string, string>;
}

const newForm: FormState = { body: { events: ['*'] }, problems: {} };

function Webhooks({ endpoints, names, created, form = newForm }: WebhooksProps) {
  const { environment, role, base } = useMember();
  return (
    <div id="webhooks" class="stack">
      {created && (
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
        <EndpointList {...{ endpoints, names }} />
      )}
      {mayAct(role, 'admin') && endpoints.length < maxEndpoints ? (
        <Form
          to="/webhooks"
          answeredIn="webhooks"
          title={`New ${environment} endpoint`}
          submit="Create endpoint"
          form={form}
        >
          <EndpointFields form={form} />
        </Form>
      ) : null}
    </div>
  );
}

function EndpointList({ endpoints, names }: Pick<WebhooksProps, 'endpoints' | 'names'>) {
  const { base } = useMember();
  return (
    <List
      caption="Webhook endpoints, newest first"
      items={endpoints}
      columns={[
        [
          'URL',
          ({ id, url, description }) => (
            <>
              <a class="row-link said" href={`${base}/webhooks/${id}`}>
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
