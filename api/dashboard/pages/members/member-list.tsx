import { managedRoles } from '#shared/access/roles.ts';
import { actorOf } from '#shared/audit/actors.ts';
import type { CreatedKey } from '#shared/organizations/created-keys.ts';
import type { Member } from '#shared/people/members/members.ts';
import type { CreatedEndpoint } from '#shared/webhooks/created-endpoints.ts';
import { hostOf } from '#shared/webhooks/endpoint.ts';
import { Badge } from '../../components/badge.tsx';
import { Submit } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { CsrfField } from '../../components/form.tsx';
import { Options } from '../../components/inputs.tsx';
import { List } from '../../components/list.tsx';
import { Moment } from '../../components/values.tsx';
import { useAddress, useMember } from '../../http/access.ts';
import { useRoleChoices } from './invitations.tsx';

const path = '/settings/members';

interface Created {
  keys: readonly CreatedKey[];
  endpoints: readonly CreatedEndpoint[];
}

/** The members, with what the member who looks may do about each. */
export function MemberList({ members, ...created }: Created & { members: readonly Member[] }) {
  const { role, user } = useMember();
  const isSelf = ({ userId }: Member) => userId === user.id;
  const isManaged = (member: Member) => managedRoles(role).includes(member.role) && !isSelf(member);
  return (
    <List
      caption="Members, by email address"
      isCompact
      items={members}
      columns={[
        [
          'Member',
          (member) => (
            <span class="row">
              {member.email} {isSelf(member) ? <Badge tone="quiet">You</Badge> : null}
              {member.isDisabled ? <Badge tone="warn">Disabled</Badge> : null}
              {member.mailRefusedAt === null ? null : <Badge tone="warn">Mail refused</Badge>}
            </span>
          ),
        ],
        ['Role', (member) => (isManaged(member) ? <RoleForm {...member} /> : member.role)],
        ['Joined', ({ since }) => <Moment at={since} />, 'named'],
        [
          'Actions',
          (member) =>
            isManaged(member) ? <Remove {...created} member={member} /> : isSelf(member) ? <Leave /> : null,
          'actions',
        ],
      ]}
    />
  );
}

function RoleForm({ userId, email, role }: Member) {
  return (
    <form method="post" action={useAddress(`${path}/${userId}/role`)} class="row">
      <CsrfField />
      <select name="role" aria-label={`Role of ${email}`}>
        <Options choices={useRoleChoices()} selected={role} />
      </select>
      <Submit>
        Change<span class="visually-hidden"> the role of {email}</span>
      </Submit>
    </form>
  );
}

function Remove({ member: { userId, email }, keys, endpoints }: Created & { member: Member }) {
  const isTheirs = ({ creator }: { creator: string }) => creator === actorOf({ userId });
  return (
    <Confirm
      id={`remove-${userId}`}
      action="Remove"
      title={`Remove ${email}?`}
      kind="danger"
      to={`${path}/${userId}/remove`}
    >
      <p>
        They lose access to {useMember().organization.name} immediately, and their open invitations are
        revoked. API keys that they created after you opened this page are revoked, too.
      </p>
      <CreatedEndpoints endpoints={endpoints.filter(isTheirs)} />
      <CreatedKeys keys={keys.filter(isTheirs)} />
    </Confirm>
  );
}

function CreatedEndpoints({ endpoints }: { endpoints: readonly CreatedEndpoint[] }) {
  if (endpoints.length === 0) return null;
  const hosts = [...new Set(endpoints.map(({ url }) => hostOf(url)))];
  return (
    <p>
      Their keys created webhook endpoints at {hosts.join(', ')}, which are still sent events. Those of a key
      that you revoke are disabled.
    </p>
  );
}

/** None is selected at first: revoking a key that a backend uses stops that backend. */
function CreatedKeys({ keys }: { keys: readonly CreatedKey[] }) {
  if (keys.length === 0) return null;
  return (
    <fieldset class="field">
      <legend class="label">Revoke API keys that they created</legend>
      <p class="hint">
        They may have copied these keys, and keys that you don't select keep working. A backend that uses a
        revoked key fails at once, so replace its key first. This can't be undone.
      </p>
      {keys.map((key) => (
        <label key={key.id}>
          <input type="hidden" name="shownKeys" value={key.id} />
          <input type="checkbox" name="revokedKeys" value={key.id} />
          <span>
            {nameOf(key)}, {key.environment},{' '}
            {key.lastUsedAt === null ? (
              'never used'
            ) : (
              <>
                last used <Moment at={key.lastUsedAt} />
              </>
            )}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function nameOf({ name, lastFour }: CreatedKey): string {
  return name === '' ? `key ...${lastFour}` : `${name}, key ...${lastFour}`;
}

function Leave() {
  const { organization } = useMember();
  return (
    <Confirm
      id="leave"
      action="Leave"
      title={`Leave ${organization.name}?`}
      kind="danger"
      to={`${path}/leave`}
    >
      <p>
        You lose access immediately. You need a new invitation to rejoin. API keys that you created keep
        working.
      </p>
    </Confirm>
  );
}
