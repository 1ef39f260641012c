import type { Member } from '../../../../shared/people/find-members.ts';
import type { InvitationSummary } from '../../../../shared/people/invitations.ts';
import { managedRoles } from '../../../../shared/people/roles.ts';
import type { Context } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';
import { Badge } from '../../layout/badge.tsx';
import { Confirm } from '../../layout/dialog.tsx';
import { CsrfField, FormNotice } from '../../layout/form.tsx';
import { type Column, Table, type TableRow } from '../../layout/table.tsx';
import { Moment } from '../../layout/values.tsx';
import { Invitations } from './invitations.tsx';
import { Invite, type Invited, InvitedNotice } from './invite.tsx';
import { RoleOptions } from './role-options.tsx';
import { Done } from './settings-frame.tsx';

const doneWords = new Map([
  ['role', 'The role is changed. It counts from the next click on.'],
  ['removed', 'The person is no longer a member, and the invitations that the person made are revoked.'],
  ['revoked', 'The invitation is revoked; its link leads nowhere now.'],
]);

export interface MembersView {
  context: Context;
  members: readonly Member[];
  invitations: readonly InvitationSummary[];
  /** Who made the invitations, in words. */
  names: ReadonlyMap<string, string>;
}

export interface MembersProps extends MembersView {
  done?: string | undefined;
  /** An invitation that was made just now. */
  invited?: Invited;
  problems?: FormProblems;
  /** The form of an invitation as it was sent. */
  body?: unknown;
}

/** The members of an organization, whom they invited, and the form to invite somebody. */
export function Members({ done, invited, problems = {}, body, ...view }: MembersProps) {
  const { context, members, invitations, names } = view;
  const mayManage = managedRoles(context.role).length > 0;
  return (
    <div id="members" class="stack">
      <Done done={done} words={doneWords} />
      <FormNotice problems={problems} />
      {invited === undefined ? null : <InvitedNotice {...invited} />}
      <MemberTable context={context} members={members} />
      <Invitations context={context} invitations={invitations} names={names} />
      {mayManage ? <Invite context={context} problems={problems} body={body} /> : null}
    </div>
  );
}

const columns: readonly Column[] = [
  { title: 'Member' },
  { title: 'Role' },
  { title: 'Since' },
  { title: 'What can be done', kind: 'actions' },
];

function MemberTable({ context, members }: Pick<MembersView, 'context' | 'members'>) {
  return (
    <div class="card card-flush table-scroll">
      <Table
        caption="Members, by address"
        columns={columns}
        rows={members.map((member) => rowOf({ context, member }))}
      />
    </div>
  );
}

interface MemberRowProps {
  context: Context;
  member: Member;
}

function rowOf({ context, member }: MemberRowProps): TableRow {
  const { email, role, since, userId } = member;
  const isOneself = userId === context.user.id;
  const isManaged = managedRoles(context.role).includes(role) && !isOneself;
  return {
    key: userId,
    cells: [
      <span class="row" key="member">
        {email} {isOneself ? <Badge tone="quiet">You</Badge> : null}
      </span>,
      isManaged ? <RoleForm context={context} member={member} key="role" /> : role,
      <Moment at={since} key="since" />,
      <>
        {isManaged ? <Remove context={context} member={member} /> : null}
        {isOneself ? <Leave context={context} /> : null}
      </>,
    ],
  };
}

function RoleForm({ context, member: { userId, email, role } }: MemberRowProps) {
  return (
    <form method="post" action={`${context.base}/settings/members/${userId}/role`} class="role-form">
      <CsrfField token={context.csrfToken} />
      <select name="role" aria-label={`Role of ${email}`}>
        <RoleOptions roles={managedRoles(context.role)} selected={role} />
      </select>
      <button type="submit" class="button">
        Change<span class="visually-hidden"> the role of {email}</span>
      </button>
    </form>
  );
}

function Remove({ context, member: { userId, email } }: MemberRowProps) {
  return (
    <Confirm
      id={`remove-${userId}`}
      action="Remove"
      title={`Remove ${email}?`}
      kind="danger"
      to={`${context.base}/settings/members/${userId}/remove`}
      csrfToken={context.csrfToken}
    >
      <p>
        The person cannot open {context.organization.name} from the next click on, and invitations that the
        person made are revoked. API keys that the person created go on working: revoke those that the person
        knows. What the person did stays in the timelines and the audit log.
      </p>
    </Confirm>
  );
}

function Leave({ context }: { context: Context }) {
  return (
    <Confirm
      id="leave"
      action="Leave"
      title={`Leave ${context.organization.name}?`}
      kind="danger"
      to={`${context.base}/settings/members/leave`}
      csrfToken={context.csrfToken}
    >
      <p>You cannot open it any more, and only an invitation brings you back.</p>
    </Confirm>
  );
}
