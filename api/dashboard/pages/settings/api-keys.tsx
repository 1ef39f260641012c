import { z } from 'zod';
import {
  type ApiKeySummary,
  createApiKey,
  listApiKeys,
  revokeApiKey,
} from '../../../../shared/organizations/api-keys.ts';
import { nameActors } from '../../../../shared/people/actors.ts';
import { mayAct } from '../../../../shared/people/roles.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { idInPath, originOf } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { Badge } from '../../layout/badge.tsx';
import { Confirm } from '../../layout/dialog.tsx';
import { CsrfField } from '../../layout/form.tsx';
import { Empty } from '../../layout/notice.tsx';
import { type Column, Table, type TableRow } from '../../layout/table.tsx';
import { CopyButton, Moment } from '../../layout/values.tsx';
import { answeredIn, Done, SettingsFrame, ShownOnce, sendOnce } from './settings-frame.tsx';

const path = '/settings/api-keys';
const querySchema = z.object({ done: z.string().optional().catch(undefined) });
const doneMessages = new Map([['revoked', 'API key revoked. Requests with it now fail.']]);

/** `/settings/api-keys`: the API keys of the environment. */
export function apiKeyPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'viewer' } }, async (request, reply) => {
    const { done } = querySchema.parse(request.query);
    const view = await readKeys(deps, contextOf(request));
    return sendPage(
      reply,
      <SettingsFrame context={view.context} page="api-keys">
        <ApiKeys {...view} done={done} created={null} />
      </SettingsFrame>,
    );
  });

  scope.post(path, { config: { role: 'admin' } }, async (request, reply) => {
    const context = contextOf(request);
    const { environment } = context;
    const organizationId = context.organization.id;
    const { plaintext } = await createApiKey(deps, { organizationId, environment, actor: context.actor });
    const view = await readKeys(deps, context);
    const created = { plaintext, origin: originOf(request) };
    return sendOnce(request, reply, {
      part: <ApiKeys {...view} done={undefined} created={created} />,
      page: (part) => (
        <SettingsFrame context={context} page="api-keys">
          {part}
        </SettingsFrame>
      ),
    });
  });

  scope.post<{ Params: { keyId: string } }>(
    `${path}/:keyId/revoke`,
    { config: { role: 'admin' } },
    async (request, reply) => {
      const { base, environment, organization, actor } = contextOf(request);
      const keyId = idInPath('key', request.params.keyId);
      await revokeApiKey(deps, { organizationId: organization.id, environment, keyId, actor });
      return reply.redirect(`${base}${path}?done=revoked`, 303);
    },
  );
}

interface KeysView {
  context: Context;
  keys: readonly ApiKeySummary[];
  /** The display names of those who created them. */
  names: ReadonlyMap<string, string>;
}

async function readKeys({ db }: ApiDependencies, context: Context): Promise<KeysView> {
  const { id } = context.organization;
  const keys = await listApiKeys(db, id, context.environment);
  const creators = keys.map(({ createdBy }) => createdBy);
  return { context, keys, names: await nameActors(db, id, creators) };
}

interface ApiKeysProps extends KeysView {
  done: string | undefined;
  /** A key that was just created. */
  created: { plaintext: string; origin: string } | null;
}

function ApiKeys({ context, keys, names, done, created }: ApiKeysProps) {
  const { environment, role } = context;
  const mayManage = mayAct(role, 'admin');
  return (
    <div id="api-keys" class="stack">
      <Done done={done} messages={doneMessages} />
      {created === null ? null : <CreatedKey {...created} />}
      <div class="spread">
        <p class="muted">
          API keys for the {environment} environment.{' '}
          {environment === 'live' ? 'Refunds created with them move real money.' : 'They move no real money.'}
        </p>
        {mayManage ? <CreateForm context={context} /> : null}
      </div>
      {keys.length === 0 ? (
        <Empty title={`No ${environment} API keys`}>
          <p>
            {mayManage
              ? 'Create a key for the backend that will request refunds.'
              : 'Ask an admin to create a key for the backend that will request refunds.'}
          </p>
        </Empty>
      ) : (
        <div class="card card-flush table-scroll">
          <Table
            caption="API keys, newest first"
            columns={columns}
            rows={keys.map((key) => rowOf(context, key, names.get(key.createdBy)))}
          />
        </div>
      )}
    </div>
  );
}

const columns: readonly Column[] = [
  { title: 'Key' },
  { title: 'Created' },
  { title: 'Last used' },
  { title: 'Status' },
  { title: 'Actions', kind: 'actions' },
];

function rowOf(context: Context, apiKey: ApiKeySummary, creator: string | undefined): TableRow {
  const { id, lastFour, createdAt, lastUsedAt, revokedAt } = apiKey;
  return {
    key: id,
    id,
    cells: [
      <code key="key">...{lastFour}</code>,
      <span key="created">
        <Moment at={createdAt} />
        <span class="detail small muted">by {creator}</span>
      </span>,
      lastUsedAt === null ? (
        <span class="muted" key="used">
          Never
        </span>
      ) : (
        <Moment at={lastUsedAt} key="used" />
      ),
      revokedAt === null ? (
        <Badge tone="good" key="status">
          Active
        </Badge>
      ) : (
        <span key="status">
          <Badge tone="quiet">Revoked</Badge> <Moment at={revokedAt} />
        </span>
      ),
      revokedAt === null && mayAct(context.role, 'admin') ? (
        <Confirm
          key="revoke"
          id={`revoke-${id}`}
          action="Revoke"
          title={`Revoke API key ...${lastFour}?`}
          kind="danger"
          to={`${context.base}${path}/${id}/revoke`}
          csrfToken={context.csrfToken}
        >
          <p>Requests with this key will fail immediately. This can't be undone.</p>
        </Confirm>
      ) : null,
    ],
  };
}

function CreateForm({ context }: { context: Context }) {
  return (
    <form {...answeredIn('api-keys', `${context.base}${path}`)}>
      <CsrfField token={context.csrfToken} />
      <button type="submit" class="button" data-kind="primary">
        Create {context.environment} key
      </button>
    </form>
  );
}

function CreatedKey({ plaintext, origin }: { plaintext: string; origin: string }) {
  const example = `curl -H "Authorization: Bearer ${plaintext}" "${origin}/v1/refunds?limit=1"`;
  return (
    <ShownOnce title="API key created" text={plaintext} label="API key">
      <p>Copy this key now and store it safely. You won't be able to see it again.</p>
      <p>Try it:</p>
      <p class="secret">
        <code>{example}</code>
        <CopyButton text={example} label="example request" />
      </p>
    </ShownOnce>
  );
}
