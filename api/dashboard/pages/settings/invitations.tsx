import type { InvitationSummary } from '#shared/people/members/invitations.ts';
import { managedRoles } from '#shared/people/roles.ts';
import type { Role } from '#shared/platform/database.ts';
import type { Context } from '../../http/access.ts';
import { Submit } from '../../layout/button.tsx';
import { Confirm } from '../../layout/dialog.tsx';
import {
  answeredIn,
  type Choices,
  CsrfField,
  type FormState,
  SelectField,
  TextField,
} from '../../layout/form.tsx';
import { type Column, Table } from '../../layout/table.tsx';
import { Moment } from '../../layout/values.tsx';
import { ShownOnce } from './settings-frame.tsx';

interface InvitationsProps {
  context: Context;
  invitations: readonly InvitationSummary[];
  /** The display names of those who invited. */
  names: ReadonlyMap<string, string>;
}

const columns: readonly Column[] = [
  { title: 'Email' },
  { title: 'Role' },
  { title: 'Invited by' },
  { title: 'Expires' },
  { title: 'Actions', kind: 'actions' },
];

/** The open invitations; nothing when there are none. */
export function Invitations({ context, invitations, names }: InvitationsProps) {
  if (invitations.length === 0) return null;
  return (
    <section class="stack-tight" aria-labelledby="invitations-title">
      <h2 id="invitations-title">Open invitations</h2>
      <div class="card card-flush table-scroll">
        <Table
          caption="Open invitations, newest first"
          columns={columns}
          rows={invitations.map((invitation) => ({
            key: invitation.id,
            cells: [
              invitation.email,
              invitation.role,
              names.get(invitation.invitedBy),
              <Moment at={invitation.expiresAt} key="expires" />,
              managedRoles(context.role).includes(invitation.role) ? (
                <Revoke context={context} invitation={invitation} key="revoke" />
              ) : null,
            ],
          }))}
        />
      </div>
    </section>
  );
}

function Revoke({ context, invitation: { id, email } }: { context: Context; invitation: InvitationSummary }) {
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke the invitation for ${email}?`}
      kind="danger"
      context={context}
      to={`/settings/members/invitations/${id}/revoke`}
    >
      <p>The link will stop working. You can invite this address again.</p>
    </Confirm>
  );
}

/** A new invitation; its link is shown only here. */
export interface Invited {
  link: string;
  email: string;
  role: Role;
  expiresAt: Date;
}

export function InvitedNotice({ link, email, role, expiresAt }: Invited) {
  return (
    <ShownOnce title="Invite link created" text={link} label="invite link">
      <p>
        Send it to {email}. Anyone with the link can join as {role}; it expires <Moment at={expiresAt} /> and
        won't be shown again.
      </p>
    </ShownOnce>
  );
}

export function InviteForm({ context, ...form }: FormState & { context: Context }) {
  return (
    <form
      {...answeredIn('members', `${context.base}/settings/members/invitations`)}
      class="card stack"
      aria-labelledby="invite-title"
    >
      <h2 id="invite-title">Invite member</h2>
      <CsrfField token={context.csrfToken} />
      <div class="fields">
        <TextField
          form={form}
          name="email"
          label="Email address"
          hint="You send the link yourself. It expires in 7 days."
          type="email"
          required
        />
        <SelectField
          form={form}
          name="role"
          label="Role"
          hint="Viewers read, operators also manage refunds, and admins also manage policies, settings and members. Owners also manage owners."
          choices={rolesFor(context)}
          initial="viewer"
        />
      </div>
      <div>
        <Submit kind="primary">Create invite link</Submit>
      </div>
    </form>
  );
}

/** The roles that a member may give to others. */
export function rolesFor({ role }: Context): Choices {
  return managedRoles(role).map((each) => [each, each]);
}
