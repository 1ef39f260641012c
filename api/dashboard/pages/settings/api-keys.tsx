import { z } from 'zod';
import {
  type ApiKeySummary,
  createApiKey,
  listApiKeys,
  revokeApiKey,
} from '../../../../shared/organizations/api-keys.ts';
import { nameActors } from '../../../../shared/people/name-actors.ts';
import { mayAct } from '../../../../shared/people/roles.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import type { Api } from '../../../route.ts';
import { actorOf, type Context, contextOf } from '../../access.ts';
import { idInPath } from '../../id-in-path.ts';
import { Badge } from '../../layout/badge.tsx';
import { Confirm } from '../../layout/dialog.tsx';
import { CsrfField } from '../../layout/form.tsx';
import { Empty } from '../../layout/notice.tsx';
import { CopyButton, Moment } from '../../layout/values.tsx';
import { sendPage } from '../../render.ts';
import { answeredIn, originOf, ShownOnce, sendOnce } from './once.tsx';
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
    const { plaintext } = await createApiKey(deps, { organizationId, environment, actor: actorOf(context) });
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
      await revokeApiKey(deps, { ...key, actor: actorOf(context) });
      return reply.redirect(`${base}${path}?done=revoked`, 303);
    },
  );
}

interface KeysView {
  context: Context;
  keys: readonly ApiKeySummary[];
  /** Who created them, in words. */
  names: ReadonlyMap<string, string>;
}

async function readKeys({ db }: ApiDependencies, context: Context): Promise<KeysView> {
  const { id } = context.organization;
  const keys = await listApiKeys(db, id, context.environment);
  const names = await nameActors(
    db,
    id,
    keys.map(({ createdBy }) => createdBy),
  );
  return { context, keys, names };
}

interface ApiKeysProps extends KeysView {
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
        <KeyTable context={context} keys={keys} names={names} />
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

function KeyTable({ context, keys, names }: KeysView) {
  return (
    <div class="card card-flush table-scroll">
      <table>
        <caption class="visually-hidden">API keys, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Created</th>
            <th scope="col">Last used</th>
            <th scope="col">State</th>
            <th scope="col">
              <span class="visually-hidden">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <KeyRow key={key.id} context={context} apiKey={key} creator={names.get(key.createdBy)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface KeyRowProps {
  context: Context;
  apiKey: ApiKeySummary;
  creator: string | undefined;
}

function KeyRow({ context, apiKey, creator }: KeyRowProps) {
  const { id, lastFour, createdAt, lastUsedAt, revokedAt } = apiKey;
  return (
    <tr id={id}>
      <th scope="row">
        <code>...{lastFour}</code>
      </th>
      <td>
        <Moment at={createdAt} />
        <div class="small muted">by {creator}</div>
      </td>
      <td>{lastUsedAt === null ? <span class="muted">never</span> : <Moment at={lastUsedAt} />}</td>
      <td>
        {revokedAt === null ? (
          <Badge tone="good">Works</Badge>
        ) : (
          <>
            <Badge tone="quiet">Revoked</Badge> <Moment at={revokedAt} />
          </>
        )}
      </td>
      <td>
        {revokedAt === null && mayAct(context.role, 'admin') ? (
          <Revoke context={context} apiKey={apiKey} />
        ) : null}
      </td>
    </tr>
  );
}

function Revoke({ context, apiKey: { id, lastFour } }: Pick<KeyRowProps, 'context' | 'apiKey'>) {
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke the key ...${lastFour}?`}
      kind="danger"
      to={`${context.base}${path}/${id}/revoke`}
      csrfToken={context.csrfToken}
    >
      <p>
        Requests with it are refused from the next one on, and this cannot be undone. Give the program that
        uses it another key first. Refunds that it has made go on.
      </p>
    </Confirm>
  );
}
