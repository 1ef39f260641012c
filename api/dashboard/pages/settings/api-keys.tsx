import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { endedScopes } from '#shared/access/personal-scopes.ts';
import { mayAct } from '#shared/access/roles.ts';
import { nameActors } from '#shared/audit/actors.ts';
import {
  type ApiKeySummary,
  createApiKey,
  defaultScopes,
  expiryAfter,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { findAgentKey, readApiKeyPage } from '#shared/organizations/list-api-keys.ts';
import { isId } from '#shared/platform/ids.ts';
import { type AgentLimits, readAgentLimits } from '#shared/policies/agent-limits.ts';
import { takenByKeys } from '#shared/refunds/lifecycle/lookups.ts';
import { createdEndpoints } from '#shared/webhooks/created-endpoints.ts';
import { Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { CopyButton } from '../../components/values.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import { answerForm, type FormState } from '../../http/forms.ts';
import { idInPath, originOf } from '../../http/paths.ts';
import { useRequest } from '../../http/render.ts';
import { changesOf } from '../../layout/changes.ts';
import { Frame } from '../../layout/frame.tsx';
import { agentLimitsOf } from './agent-limits.tsx';
import { NewKeyForm, newKeySchema } from './api-key-form.tsx';
import { KeyList, type KeysView, mayHaveCreated, apiKeysPath as path } from './api-key-list.tsx';
import { ShownOnce } from './settings-frame.tsx';

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
const statusSchema = z.object({ status: z.enum(['active', 'stopped']) });

/** `/settings/api-keys`: the API keys of the environment, those for agents with their limits and what they have used of them. */
export function apiKeyPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, needs('viewer'), (_request, reply) => show(deps, reply, {}));

  scope.post(path, needs('admin', 'confirmed'), (request, reply) =>
    answerForm(reply, {
      schema: newKeySchema,
      again: (form) => show(deps, reply, { form }),
      run: async ({ name, scopes, expiresInDays, ...limits }) => {
        const expiresAt = expiresInDays === null ? null : expiryAfter(expiresInDays, deps.clock.now());
        const key = { name, scopes, expiresAt, agentLimits: agentLimitsOf(limits) };
        const { plaintext } = await createApiKey(deps, { ...actingIn(request), ...key });
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
  change(
    `${path}/:keyId/status`,
    { ...needs('admin', 'confirmed'), schema: statusSchema },
    ({ status }) => (status === 'stopped' ? 'agent-stopped' : 'agent-resumed'),
    async (request, { status }) => {
      const { owner, actor } = contextOf(request);
      const { id: keyId } = await findAgentKey(deps.db, owner, idInPath(request, 'keyId', 'key'));
      await changeApiKey(deps, { keyId, actor, change: { isStopped: status === 'stopped' } });
    },
  );
}

/** A page of the list. */
interface PageOfKeys extends KeysView {
  /** The key after which the next page begins; null on the last one. */
  next: string | null;
  isNewest: boolean;
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

async function readKeys({ db, clock }: ApiDependencies, { request }: FastifyReply): Promise<PageOfKeys> {
  const { owner } = contextOf(request);
  const { organizationId } = owner;
  const { before } = querySchema.parse(request.query);
  const now = clock.now();
  const { keys, next } = await readApiKeyPage(db, { ...owner, before, limit: pageSize });
  const creators = keys.map(({ createdBy }) => createdBy);
  const limits = limitsOf(keys);
  const currencies = [...limits].map(([id, { currency }]) => ({ id, currency }));
  const actors = keys.filter(mayHaveCreated).map((key) => `key:${key.id}`);
  return {
    ...{ keys, next, now, isNewest: before === undefined },
    limits,
    names: await nameActors(db, organizationId, creators),
    taken: await takenByKeys(db, currencies),
    createdWithKeys: await createdKeys(db, actors, now, organizationId),
    endpoints: await createdEndpoints(db, actors, organizationId),
    ended: await endedScopes(db, organizationId, keys),
  };
}

function limitsOf(keys: readonly ApiKeySummary[]): ReadonlyMap<string, AgentLimits> {
  const read = keys.map(({ id, agentLimits }) => [id, readAgentLimits(agentLimits)] as const);
  return new Map(read.flatMap(([id, limits]) => (limits === null ? [] : [[id, limits]])));
}

const newForm: FormState = { body: { scopes: defaultScopes }, problems: {} };

function ApiKeys({ plaintext, form = newForm, ...view }: PageOfKeys & State) {
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
        <KeyList {...view} />
      )}
      <Pages newest={isNewest ? null : `${base}${path}`} older={next && `${base}${path}?before=${next}`} />
      {mayManage ? <NewKeyForm form={form} /> : null}
    </div>
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
