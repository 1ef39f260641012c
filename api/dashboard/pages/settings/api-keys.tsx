import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import {
  type ApiKeyScope,
  type ApiKeyStatus,
  type ApiKeySummary,
  apiKeyStatus,
  createApiKey,
  defaultScopes,
  expiryAfter,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { type CreatedKey, createdKeys } from '#shared/organizations/created-keys.ts';
import { type ApiKeyPage, readApiKeyPage } from '#shared/organizations/list-api-keys.ts';
import { endedScopes } from '#shared/organizations/personal-scopes.ts';
import { nameActors } from '#shared/people/actors.ts';
import { mayAct } from '#shared/people/roles.ts';
import { isId } from '#shared/platform/ids.ts';
import { type CreatedEndpoint, createdEndpoints } from '#shared/webhooks/created-endpoints.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Confirm } from '../../components/dialog.tsx';
import type { FormState } from '../../components/form.tsx';
import { type Column, List, Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { CopyButton, Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { entered, type FormProblems, readForm, validationProblemsOf } from '../../http/forms.ts';
import { idInPath, originOf } from '../../http/paths.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { Frame } from '../../layout/frame.tsx';
import { NewKeyForm, newKeySchema } from './api-key-form.tsx';
import { ShownOnce } from './settings-frame.tsx';

const path = '/settings/api-keys';
const pageSize = 50;

/** A malformed `before` shows the first page. */
const querySchema = z.object({
  before: z
    .string()
    .refine((text) => isId('key', text))
    .optional()
    .catch(undefined),
});

/** `/settings/api-keys`: the API keys of the environment. */
export function apiKeyPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'viewer' } }, (request, reply) => show(deps, request, reply, {}));

  scope.post(path, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const { owner, actor } = contextOf(request);
    const again = (problems: FormProblems) =>
      show(deps, request, reply.code(400), { form: { body: request.body, problems } });
    const form = readForm(newKeySchema, request.body);
    if (form.kind === 'invalid') return await again(form.problems);
    const { name, scopes, expiresInDays } = form.value;
    const expiresAt = expiresInDays === null ? null : expiryAfter(expiresInDays, deps.clock.now());
    try {
      const { plaintext } = await createApiKey(deps, { ...owner, actor, name, scopes, expiresAt });
      return await show(deps, request, reply, { created: { plaintext, origin: originOf(request) } });
    } catch (error) {
      return await again(validationProblemsOf(error, ['name', 'scopes']));
    }
  });

  scope.post(
    `${path}/:keyId/revoke`,
    { config: { role: 'admin', confirm: true } },
    async (request, reply) => {
      const { base, owner, actor } = contextOf(request);
      const keyId = idInPath(request, 'keyId', 'key');
      const withCreated = entered(request.body, 'withCreated') === 'yes';
      await revokeApiKey(deps, { ...owner, keyId, actor, withCreated });
      return reply.redirect(doneAt(`${base}${path}`, withCreated ? 'keys-revoked' : 'key-revoked'), 303);
    },
  );
}

async function show(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  state: State,
): Promise<FastifyReply> {
  const context = contextOf(request);
  const { id } = context.organization;
  const { before } = querySchema.parse(request.query);
  const page = await readApiKeyPage(deps.db, { ...context.owner, before, limit: pageSize });
  const creators = page.keys.map(({ createdBy }) => createdBy);
  const names = await nameActors(deps.db, id, creators);
  const now = deps.clock.now();
  const actors = page.keys.filter(mayHaveCreated).map((key) => `key:${key.id}`);
  const createdWithKeys = await createdKeys(deps.db, actors, now, id);
  const endpoints = await createdEndpoints(deps.db, actors, id);
  const ended = await endedScopes(deps.db, id, page.keys);
  const view = {
    context,
    page,
    names,
    createdWithKeys,
    endpoints,
    ended,
    isNewest: before === undefined,
    now,
  };
  const part = <ApiKeys {...view} {...state} />;
  if (request.headers['hx-request'] === 'true') return sendPart(reply, part);
  return sendPage(
    reply,
    <Frame context={context} title="API keys" section="api-keys">
      {part}
    </Frame>,
  );
}

/** Whether a key can create what outlives it. */
function mayHaveCreated({ scopes }: Pick<ApiKeySummary, 'scopes'>): boolean {
  return scopes.includes('keys:manage') || scopes.includes('webhooks:manage');
}

/** The result of the last action. */
interface State {
  /** A key that was just created. */
  created?: { plaintext: string; origin: string };
  form?: FormState;
}

interface ApiKeysProps extends State {
  context: Context;
  page: ApiKeyPage;
  /** The display names of those who created the keys. */
  names: ReadonlyMap<string, string>;
  /** The keys that were created with keys of this page and are neither revoked nor expired. */
  createdWithKeys: readonly CreatedKey[];
  /** The enabled webhook endpoints that keys of this page created, also with other keys. */
  endpoints: readonly CreatedEndpoint[];
  /** The scopes that keys have lost with the people behind them. */
  ended: ReadonlyMap<string, readonly ApiKeyScope[]>;
  /** Whether this is the first page. */
  isNewest: boolean;
  now: Date;
}

const newForm: FormState = { body: { scopes: defaultScopes }, problems: {} };

function ApiKeys({ created, form = newForm, ...view }: ApiKeysProps) {
  const { context, page, isNewest } = view;
  const { environment, role } = context;
  const mayManage = mayAct(role, 'admin');
  return (
    <div id="api-keys" class="stack">
      {created === undefined ? null : <NewKeyNotice {...created} />}
      <p class="muted">
        API keys for the {environment} environment.{' '}
        {environment === 'live'
          ? 'Refunds created with them move real money.'
          : "Refunds created with them don't move real money."}
      </p>
      {page.keys.length === 0 ? (
        <Empty title={`No ${environment} API keys`}>
          <p>
            {mayManage
              ? 'Create a key for the backend that will request refunds.'
              : 'Ask an admin to create a key for the backend that will request refunds.'}
          </p>
        </Empty>
      ) : (
        <List
          caption="API keys, newest first"
          items={page.keys}
          rowId={({ id }) => id}
          columns={columnsOf(view)}
        />
      )}
      <Pages
        newest={isNewest ? null : `${context.base}${path}`}
        older={page.next && `${context.base}${path}?before=${page.next}`}
      />
      {mayManage ? <NewKeyForm context={context} to={`${context.base}${path}`} form={form} /> : null}
    </div>
  );
}

type ListView = Pick<ApiKeysProps, 'context' | 'names' | 'createdWithKeys' | 'endpoints' | 'ended' | 'now'>;

function columnsOf(view: ListView): readonly Column<ApiKeySummary>[] {
  const { context, names, ended, now } = view;
  return [
    [
      'Key',
      ({ name, lastFour, agentLimits }) => (
        <>
          {name === '' ? null : `${name} `}
          <code>...{lastFour}</code> {agentLimits === null ? null : <Badge tone="quiet">Agent</Badge>}
        </>
      ),
    ],
    [
      'Scopes',
      ({ id, scopes }) => (
        <span class="small">
          {scopes.join(', ')}
          <EndedScopes scopes={ended.get(id) ?? []} />
        </span>
      ),
    ],
    [
      'Created',
      ({ createdAt, createdBy }) => (
        <span>
          <Moment at={createdAt} />
          <span class="detail small muted">by {names.get(createdBy)}</span>
        </span>
      ),
    ],
    ['Last used', ({ lastUsedAt }) => <When at={lastUsedAt} />],
    ['Expires', ({ expiresAt }) => <When at={expiresAt} />],
    ['Status', (key) => <KeyStatus apiKey={key} now={now} />],
    [
      'Actions',
      (key) =>
        key.revokedAt === null && mayAct(context.role, 'admin') ? <Revoke {...view} apiKey={key} /> : null,
      'actions',
    ],
  ];
}

function Revoke({ context, createdWithKeys, endpoints, apiKey }: ListView & { apiKey: ApiKeySummary }) {
  const { id, name, lastFour } = apiKey;
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke API key ${name === '' ? '' : `${name} `}...${lastFour}?`}
      kind="danger"
      context={context}
      to={`${path}/${id}/revoke`}
    >
      <p>Requests with this key will fail immediately. This can't be undone.</p>
      {mayHaveCreated(apiKey) ? (
        <WithCreated
          keys={createdWithKeys.filter(({ creator }) => creator === `key:${id}`).length}
          endpoints={endpoints.filter(({ creator }) => creator === `key:${id}`).length}
        />
      ) : null}
    </Confirm>
  );
}

function EndedScopes({ scopes }: { scopes: readonly ApiKeyScope[] }) {
  if (scopes.length === 0) return null;
  return (
    <span class="detail muted">{scopes.join(', ')} ended with the role of the person behind this key</span>
  );
}

/** Shown also when there are none: the key may create one before it is revoked. */
function WithCreated({ keys, endpoints }: { keys: number; endpoints: number }) {
  return (
    <label>
      <input type="checkbox" name="withCreated" value="yes" />
      <span>
        Also revoke the keys ({keys} now) and disable the webhook endpoints ({endpoints} now) that were
        created with it.
      </span>
    </label>
  );
}

/** A time of a key; null for never. */
export function When({ at }: { at: Date | null }) {
  return at === null ? <span class="muted">Never</span> : <Moment at={at} />;
}

const statuses: Record<ApiKeyStatus, { word: string; tone: Tone }> = {
  active: { word: 'Active', tone: 'good' },
  stopped: { word: 'Stopped', tone: 'warn' },
  expired: { word: 'Expired', tone: 'quiet' },
  revoked: { word: 'Revoked', tone: 'quiet' },
};

/** Whether a key works, and since when not. */
export function KeyStatus({ apiKey, now }: { apiKey: ApiKeySummary; now: Date }) {
  const status = apiKeyStatus(apiKey, now);
  const { word, tone } = statuses[status];
  const since = apiKey.revokedAt ?? apiKey.stoppedAt;
  return (
    <span>
      <Badge tone={tone}>{word}</Badge>{' '}
      {status === 'expired' || since === null ? null : <Moment at={since} />}
    </span>
  );
}

function NewKeyNotice({ plaintext, origin }: { plaintext: string; origin: string }) {
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
