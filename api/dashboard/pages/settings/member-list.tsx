import type { CreatedKey } from '#shared/organizations/created-keys.ts';
import { actorOf } from '#shared/people/actors.ts';
import type { InvitationSummary } from '#shared/people/members/invitations.ts';
import type { Member } from '#shared/people/members/members.ts';
import type { SecondFactorRule } from '#shared/people/members/required-second-factor.ts';
import { managedRoles } from '#shared/people/roles.ts';
import type { CreatedEndpoint } from '#shared/webhooks/created-endpoints.ts';
import { hostOf } from '#shared/webhooks/endpoint.ts';
import { Badge } from '../../components/badge.tsx';
import { Submit } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { CsrfField, FormNotice, Options } from '../../components/form.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Moment } from '../../components/values.tsx';
import type { Context } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';
import { Invitations, type Invited, InvitedNotice, InviteForm, rolesFor } from './invitations.tsx';
import { SecondFactorRuleCard } from './second-factor-rule.tsx';

export interface MembersView {
  context: Context;
  members: readonly Member[];
  invitations: readonly InvitationSummary[];
  /** The display names of those who invited. */
  names: ReadonlyMap<string, string>;
  rule: SecondFactorRule;
  /** The API keys that the members created. */
  keys: readonly CreatedKey[];
  /** The webhook endpoints that keys of members created. */
  endpoints: readonly CreatedEndpoint[];
}

export interface MembersProps extends MembersView {
  /** An invitation that was just created. */
  invited?: Invited;
  problems?: FormProblems;
  /** The submitted invitation form. */
  body?: unknown;
}

/** Members, open invitations and the invitation form. */
export function Members({ invited, problems = {}, body, ...view }: MembersProps) {
  const { context, members, invitations, names, rule } = view;
  const mayManage = managedRoles(context.role).length > 0;
  return (
    <div id="members" class="stack">
      <FormNotice problems={problems} />
      {invited === undefined ? null : <InvitedNotice {...invited} />}
      <List
        caption="Members, by email address"
        items={members.map((member) => ({ context, member, ...createdBy(member, view) }))}
        columns={columns}
      />
      <Invitations context={context} invitations={invitations} names={names} />
      <SecondFactorRuleCard context={context} rule={rule} />
      {mayManage ? <InviteForm context={context} problems={problems} body={body} /> : null}
    </div>
  );
}

interface MemberRowProps {
  context: Context;
  member: Member;
  /** The API keys that the member created. */
  keys: readonly CreatedKey[];
  /** The webhook endpoints that keys of the member created. */
  endpoints: readonly CreatedEndpoint[];
}

function createdBy({ userId }: Member, { keys, endpoints }: Pick<MembersView, 'keys' | 'endpoints'>) {
  const isTheirs = ({ creator }: { creator: string }) => creator === actorOf({ userId });
  return { keys: keys.filter(isTheirs), endpoints: endpoints.filter(isTheirs) };
}

function isSelf({ context, member }: MemberRowProps): boolean {
  return member.userId === context.user.id;
}

function isManaged(row: MemberRowProps): boolean {
  return managedRoles(row.context.role).includes(row.member.role) && !isSelf(row);
}

const columns: readonly Column<MemberRowProps>[] = [
  [
    'Member',
    (row) => (
      <span class="row">
        {row.member.email} {isSelf(row) ? <Badge tone="quiet">You</Badge> : null}
        {row.member.isDisabled ? <Badge tone="warn">Disabled</Badge> : null}
      </span>
    ),
  ],
  ['Role', (row) => (isManaged(row) ? <RoleForm {...row} /> : row.member.role)],
  ['Joined', ({ member }) => <Moment at={member.since} />],
  [
    'Actions',
    (row) => (isManaged(row) ? <Remove {...row} /> : isSelf(row) ? <Leave context={row.context} /> : null),
    'actions',
  ],
];

function RoleForm({ context, member: { userId, email, role } }: Omit<MemberRowProps, 'keys' | 'endpoints'>) {
  return (
    <form method="post" action={`${context.base}/settings/members/${userId}/role`} class="role-form">
      <CsrfField token={context.csrfToken} />
      <select name="role" aria-label={`Role of ${email}`}>
        <Options choices={rolesFor(context)} selected={role} />
      </select>
      <Submit>
        Change<span class="visually-hidden"> the role of {email}</span>
      </Submit>
    </form>
  );
}

function Remove({ context, member: { userId, email }, keys, endpoints }: MemberRowProps) {
  return (
    <Confirm
      id={`remove-${userId}`}
      action="Remove"
      title={`Remove ${email}?`}
      kind="danger"
      context={context}
      to={`/settings/members/${userId}/remove`}
    >
      <p>
        They lose access to {context.organization.name} immediately, and their open invitations are revoked.
        API keys that they created after you opened this page are revoked, too.
      </p>
      {endpoints.length === 0 ? null : <CreatedEndpoints endpoints={endpoints} />}
      {keys.length === 0 ? null : <CreatedKeys keys={keys} />}
    </Confirm>
  );
}

function CreatedEndpoints({ endpoints }: { endpoints: readonly CreatedEndpoint[] }) {
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

function Leave({ context }: { context: Context }) {
  return (
    <Confirm
      id="leave"
      action="Leave"
      title={`Leave ${context.organization.name}?`}
      kind="danger"
      context={context}
      to="/settings/members/leave"
    >
      <p>
        You lose access immediately. You need a new invitation to rejoin. API keys that you created keep
        working.
      </p>
    </Confirm>
  );
}
