import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import {
  type ApiKeyStatus,
  type ApiKeySummary,
  apiKeyStatus,
  createApiKey,
  defaultScopes,
  expiryAfter,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { readApiKeyPage } from '#shared/organizations/list-api-keys.ts';
import { nameActors } from '#shared/people/actors.ts';
import { endedScopes } from '#shared/people/personal-scopes.ts';
import { mayAct } from '#shared/people/roles.ts';
import { isId } from '#shared/platform/ids.ts';
import { createdEndpoints } from '#shared/webhooks/created-endpoints.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { type Column, List, Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { CopyButton, Made, Moment } from '../../components/values.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import { answerForm, type FormState } from '../../http/forms.ts';
import { idInPath, originOf } from '../../http/paths.ts';
import { useRequest } from '../../http/render.ts';
import { changesOf } from '../../layout/changes.ts';
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

const revocationSchema = z.object({ withCreated: z.stringbool().default(false) });

/** `/settings/api-keys`: the API keys of the environment. */
export function apiKeyPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, needs('viewer'), (_request, reply) => show(deps, reply, {}));

  scope.post(path, needs('admin', 'confirmed'), (request, reply) =>
    answerForm(reply, {
      schema: newKeySchema,
      again: (form) => show(deps, reply, { form }),
      run: async ({ name, scopes, expiresInDays }) => {
        const expiresAt = expiresInDays === null ? null : expiryAfter(expiresInDays, deps.clock.now());
        const { plaintext } = await createApiKey(deps, { ...actingIn(request), name, scopes, expiresAt });
        return await show(deps, reply, { plaintext });
      },
    }),
  );

  const change = changesOf(scope, path);
  change(
    `${path}/:keyId/revoke`,
    { ...needs('admin', 'confirmed'), schema: revocationSchema },
    ({ withCreated }) => (withCreated ? 'keys-revoked' : 'key-revoked'),
    (request, { withCreated }) =>
      revokeApiKey(deps, { ...actingIn(request), keyId: idInPath(request, 'keyId', 'key'), withCreated }),
  );
}

/** The result of the last action. */
interface State {
  /** A key that was just created. */
  plaintext?: string;
  form?: FormState;
}

async function show(deps: ApiDependencies, reply: FastifyReply, state: State): Promise<FastifyReply> {
  const view = await readKeys(deps, reply);
  return reply.send(
    <Frame title="API keys" section="api-keys">
      <ApiKeys {...view} {...state} />
    </Frame>,
  );
}

async function readKeys({ db, clock }: ApiDependencies, { request }: FastifyReply) {
  const { owner } = contextOf(request);
  const { organizationId } = owner;
  const { before } = querySchema.parse(request.query);
  const now = clock.now();
  const { keys, next } = await readApiKeyPage(db, { ...owner, before, limit: pageSize });
  const creators = keys.map(({ createdBy }) => createdBy);
  const actors = keys.filter(mayHaveCreated).map((key) => `key:${key.id}`);
  return {
    ...{ keys, next, now, isNewest: before === undefined },
    names: await nameActors(db, organizationId, creators),
    /** Those that are neither revoked nor expired. */
    createdWithKeys: await createdKeys(db, actors, now, organizationId),
    /** The enabled ones, also those that other keys created. */
    endpoints: await createdEndpoints(db, actors, organizationId),
    /** The scopes that keys have lost with the people behind them. */
    ended: await endedScopes(db, organizationId, keys),
  };
}

type KeysView = Awaited<ReturnType<typeof readKeys>>;

/** Whether a key can create what outlives it. */
function mayHaveCreated({ scopes }: Pick<ApiKeySummary, 'scopes'>): boolean {
  return scopes.includes('keys:manage') || scopes.includes('webhooks:manage');
}

const newForm: FormState = { body: { scopes: defaultScopes }, problems: {} };

function ApiKeys({ plaintext, form = newForm, ...view }: KeysView & State) {
  const { keys, next, isNewest } = view;
  const { environment, role, base } = useMember();
  const mayManage = mayAct(role, 'admin');
  return (
    <div id="api-keys" class="stack">
      {plaintext && <NewKeyNotice plaintext={plaintext} />}
      <p class="muted">
        API keys for the {environment} environment.{' '}
        {environment === 'live'
          ? 'Refunds created with them move real money.'
          : "Refunds created with them don't move real money."}
      </p>
      {keys.length === 0 ? (
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
          items={keys}
          rowId={({ id }) => id}
          columns={columnsOf(view, mayManage)}
        />
      )}
      <Pages newest={isNewest ? null : `${base}${path}`} older={next && `${base}${path}?before=${next}`} />
      {mayManage ? <NewKeyForm form={form} /> : null}
    </div>
  );
}

function columnsOf(view: KeysView, mayManage: boolean): readonly Column<ApiKeySummary>[] {
  const { names, ended, now } = view;
  return [
    [
      'Key',
      ({ name, lastFour, agentLimits }) => (
        <>
          {name === '' ? null : `${name} `}
          <code class="nowrap">...{lastFour}</code>{' '}
          {agentLimits === null ? null : <Badge tone="quiet">Agent</Badge>}
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
    ['Created', ({ createdAt, createdBy }) => <Made at={createdAt} by={names.get(createdBy)} />],
    ['Last used', ({ lastUsedAt }) => <LastUsed at={lastUsedAt} />],
    ['Status', (key) => <KeyStatus apiKey={key} now={now} />],
    [
      'Actions',
      (key) => (key.revokedAt === null && mayManage ? <Revoke {...view} apiKey={key} /> : null),
      'actions',
    ],
  ];
}

function Revoke({ createdWithKeys, endpoints, apiKey }: KeysView & { apiKey: ApiKeySummary }) {
  const { id, name, lastFour } = apiKey;
  const isItsOwn = ({ creator }: { creator: string }) => creator === `key:${id}`;
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke API key ${name === '' ? '' : `${name} `}...${lastFour}?`}
      kind="danger"
      to={`${path}/${id}/revoke`}
    >
      <p>Requests with this key will fail immediately. This can't be undone.</p>
      {/* Shown also when there are none: the key may create one before it is revoked. */}
      {mayHaveCreated(apiKey) ? (
        <label>
          <input type="checkbox" name="withCreated" value="yes" />
          <span>
            Also revoke the keys ({createdWithKeys.filter(isItsOwn).length} now) and disable the webhook
            endpoints ({endpoints.filter(isItsOwn).length} now) that were created with it.
          </span>
        </label>
      ) : null}
    </Confirm>
  );
}

function EndedScopes({ scopes }: { scopes: readonly string[] }) {
  if (scopes.length === 0) return null;
  return (
    <span class="detail muted">{scopes.join(', ')} ended with the role of the person behind this key</span>
  );
}

export function LastUsed({ at }: { at: Date | null }) {
  return at === null ? <span class="muted">Never</span> : <Moment at={at} />;
}

const statuses: Record<ApiKeyStatus, { word: string; tone: Tone }> = {
  active: { word: 'Active', tone: 'good' },
  stopped: { word: 'Stopped', tone: 'warn' },
  expired: { word: 'Expired', tone: 'quiet' },
  revoked: { word: 'Revoked', tone: 'quiet' },
};

/** Whether a key works, since when not, and until when. */
export function KeyStatus({ apiKey, now }: { apiKey: ApiKeySummary; now: Date }) {
  const status = apiKeyStatus(apiKey, now);
  const { word, tone } = statuses[status];
  const { revokedAt, stoppedAt, expiresAt } = apiKey;
  const since = status === 'expired' ? expiresAt : (revokedAt ?? stoppedAt);
  return (
    <span>
      <Badge tone={tone}>{word}</Badge> {since && <Moment at={since} />}
      {since === null && expiresAt !== null ? (
        <span class="detail small muted">
          Expires <Moment at={expiresAt} />
        </span>
      ) : null}
    </span>
  );
}

function NewKeyNotice({ plaintext }: { plaintext: string }) {
  const origin = originOf(useRequest());
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
