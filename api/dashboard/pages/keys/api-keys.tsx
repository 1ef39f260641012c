import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { endedScopes } from '#shared/access/personal-scopes.ts';
import { mayAct } from '#shared/access/roles.ts';
import { nameActors } from '#shared/audit/actors.ts';
import {
  type ApiKeySummary,
  createApiKey,
  expiryAfter,
  revokeApiKey,
} from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { findAgentKey, findApiKeys } from '#shared/organizations/list-api-keys.ts';
import { pageOf } from '#shared/platform/cursor.ts';
import { type AgentLimits, readAgentLimits } from '#shared/policies/agent-limits.ts';
import { takenByKeys } from '#shared/refunds/lifecycle/lookups.ts';
import { createdEndpoints } from '#shared/webhooks/created-endpoints.ts';
import { ButtonLink } from '../../components/button.tsx';
import { Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { CopyButton } from '../../components/values.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { cursorIn } from '../../http/filter.ts';
import { page } from '../../http/page.ts';
import { idInPath, originOf } from '../../http/paths.ts';
import { useRequest } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { newAgentKeyPath } from './agent-key.tsx';
import { NewKeyForm, newKeySchema } from './api-key-form.tsx';
import { KeyList, type KeysView, mayHaveCreated, apiKeysPath as path } from './api-key-list.tsx';

const pageSize = 50;

const revocationSchema = z.object({ withCreated: z.stringbool().default(false) });
const statusSchema = z.object({ status: z.enum(['active', 'stopped']) });

/** `/settings/api-keys`: the API keys of the environment, those for agents with their limits and what they have used of them. */
export function apiKeyPages(scope: Api, deps: ApiDependencies): void {
  const manage = confirmed('admin');
  const asButton = { isButton: true };
  const keys = page(scope, path, 'viewer', (request) => readKeys(deps, request), ApiKeys);

  keys.form(path, manage, newKeySchema, async (request, { name, scopes, expiresInDays }) => {
    const expiresAt = expiresInDays === null ? null : expiryAfter(expiresInDays, deps.clock.now());
    const { plaintext } = await createApiKey(deps, { ...actingIn(request), name, scopes, expiresAt });
    return { plaintext };
  });

  keys.form(
    `${path}/:keyId/revoke`,
    manage,
    revocationSchema,
    async (request, { withCreated }) => {
      const keyId = idInPath(request, 'keyId', 'key');
      await revokeApiKey(deps, { ...actingIn(request), keyId, withCreated });
      return withCreated ? 'keys-revoked' : 'key-revoked';
    },
    asButton,
  );

  keys.form(
    `${path}/:keyId/status`,
    manage,
    statusSchema,
    async (request, { status }) => {
      const { owner, actor } = contextOf(request);
      const { id: keyId } = await findAgentKey(deps.db, owner, idInPath(request, 'keyId', 'key'));
      await changeApiKey(deps, { keyId, actor, change: { isStopped: status === 'stopped' } });
      return status === 'stopped' ? 'agent-stopped' : 'agent-resumed';
    },
    asButton,
  );
}

/** A page of the list. */
interface ApiKeysProps extends KeysView {
  /** The cursors of this page and the next one. */
  cursor: string | null;
  next: string | null;
  /** A key that was just created. */
  plaintext?: string;
}

async function readKeys({ db, clock }: ApiDependencies, request: FastifyRequest): Promise<ApiKeysProps> {
  const { owner } = contextOf(request);
  const { organizationId } = owner;
  const cursor = cursorIn(request.query);
  const now = clock.now();
  const { rows: keys, next } = await pageOf(
    { cursor, limit: pageSize },
    (before, limit) => findApiKeys(db, owner, before, limit),
    (key) => key,
  );
  const creators = keys.map(({ createdBy }) => createdBy);
  const limits = limitsOf(keys);
  const currencies = [...limits].map(([id, { currency }]) => ({ id, currency }));
  const actors = keys.filter(mayHaveCreated).map((key) => `key:${key.id}`);
  return {
    ...{ keys, next, now, cursor },
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

function ApiKeys({ plaintext, ...view }: ApiKeysProps) {
  const { keys, next, cursor } = view;
  const { environment, role } = useMember();
  const mayManage = mayAct(role, 'admin');
  const newAgent = (
    <ButtonLink kind="primary" to={newAgentKeyPath}>
      New agent key
    </ButtonLink>
  );
  return (
    <Frame title="API keys" section="api-keys" actions={mayManage ? newAgent : undefined}>
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
                ? 'Create a key for the backend or the agent that will request refunds.'
                : 'Ask an admin to create a key for the backend or the agent that will request refunds.'}
            </p>
          </Empty>
        ) : (
          <KeyList {...view} />
        )}
        <Pages to={path} cursor={cursor} older={next} />
        {mayManage ? <NewKeyForm /> : null}
      </div>
    </Frame>
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
