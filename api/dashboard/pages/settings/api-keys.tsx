import { z } from 'zod';
import { createApiKey, listApiKeys, revokeApiKey } from '../../../../shared/organizations/api-keys.ts';
import { nameActors } from '../../../../shared/people/name-actors.ts';
import { mayAct } from '../../../../shared/people/roles.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { idInPath } from '../../http/id-in-path.ts';
import { originOf } from '../../http/origin.ts';
import { sendPage } from '../../http/render.ts';
import { CsrfField } from '../../layout/form.tsx';
import { Empty } from '../../layout/notice.tsx';
import { CopyButton } from '../../layout/values.tsx';
import { ApiKeyTable, type ApiKeyTableProps } from './api-key-table.tsx';
import { answeredIn, ShownOnce, sendOnce } from './once.tsx';
import { Done, SettingsFrame } from './settings-frame.tsx';

const path = '/settings/api-keys';
const querySchema = z.object({ done: z.string().optional().catch(undefined) });
const doneWords = new Map([['revoked', 'The key is revoked. Requests with it are refused from now on.']]);

/** `/settings/api-keys`: the keys with which programs use the environment that the page is in. */
export function apiKeyPages(room: Api, deps: ApiDependencies): void {
  room.get(path, { config: { role: 'viewer' } }, async (request, reply) => {
    const { done } = querySchema.parse(request.query);
    const view = await readKeys(deps, contextOf(request));
    return sendPage(
      reply,
      <SettingsFrame context={view.context} page="api-keys">
        <ApiKeys {...view} done={done} created={null} />
      </SettingsFrame>,
    );
  });

  room.post(path, { config: { role: 'admin' } }, async (request, reply) => {
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

  room.post<{ Params: { keyId: string } }>(
    `${path}/:keyId/revoke`,
    { config: { role: 'admin' } },
    async (request, reply) => {
      const context = contextOf(request);
      const { base, environment, organization } = context;
      const key = {
        organizationId: organization.id,
        environment,
        keyId: idInPath('key', request.params.keyId),
      };
      await revokeApiKey(deps, { ...key, actor: context.actor });
      return reply.redirect(`${base}${path}?done=revoked`, 303);
    },
  );
}

async function readKeys({ db }: ApiDependencies, context: Context): Promise<ApiKeyTableProps> {
  const { id } = context.organization;
  const keys = await listApiKeys(db, id, context.environment);
  const names = await nameActors(
    db,
    id,
    keys.map(({ createdBy }) => createdBy),
  );
  return { context, keys, names };
}

interface ApiKeysProps extends ApiKeyTableProps {
  done: string | undefined;
  /** A key that was created just now. */
  created: { plaintext: string; origin: string } | null;
}

function ApiKeys({ context, keys, names, done, created }: ApiKeysProps) {
  const { environment, role } = context;
  return (
    <div id="api-keys" class="stack">
      <Done done={done} words={doneWords} />
      {created === null ? null : <CreatedKey {...created} />}
      <div class="spread">
        <p class="muted">
          Programs use the {environment} environment with these keys.{' '}
          {environment === 'live' ? 'Refunds that they make move real money.' : 'No real money moves.'}
        </p>
        {mayAct(role, 'admin') ? <CreateForm context={context} /> : null}
      </div>
      {keys.length === 0 ? (
        <Empty title={`There is no ${environment} key yet`}>
          <p>
            {mayAct(role, 'admin')
              ? 'Create one, and give it to the program that is to make refunds.'
              : 'Ask an admin to create one for the program that is to make refunds.'}
          </p>
        </Empty>
      ) : (
        <ApiKeyTable context={context} keys={keys} names={names} />
      )}
    </div>
  );
}

function CreateForm({ context }: { context: Context }) {
  return (
    <form {...answeredIn('api-keys', `${context.base}${path}`)}>
      <CsrfField token={context.csrfToken} />
      <button type="submit" class="button" data-kind="primary">
        Create a {context.environment} key
      </button>
    </form>
  );
}

function CreatedKey({ plaintext, origin }: { plaintext: string; origin: string }) {
  const tryIt = `curl -H "Authorization: Bearer ${plaintext}" "${origin}/v1/refunds?limit=1"`;
  return (
    <ShownOnce title="Copy the new key now" text={plaintext} label="the key">
      <p>It is shown this once and never again: only its fingerprint is stored. Keep it like a password.</p>
      <p>To try it, list the latest refund:</p>
      <p class="secret">
        <code>{tryIt}</code>
        <CopyButton text={tryIt} label="the command" />
      </p>
    </ShownOnce>
  );
}
