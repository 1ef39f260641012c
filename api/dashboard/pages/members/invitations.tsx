import { z } from 'zod';
import { managedRoles, roles } from '#shared/access/roles.ts';
import type { InvitationSummary } from '#shared/people/members/invitations.ts';
import type { Role } from '#shared/platform/database.ts';
import { Badge } from '../../components/badge.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Form } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { Moment } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import type { Choices } from '../../words/words.ts';

interface InvitationsProps {
  invitations: readonly InvitationSummary[];
  /** The display names of those who invited. */
  names: ReadonlyMap<string, string>;
}

/** The open invitations; nothing when there are none. */
export function Invitations({ invitations, names }: InvitationsProps) {
  const managed = managedRoles(useMember().role);
  if (invitations.length === 0) return null;
  return (
    <section class="stack-tight" aria-labelledby="invitations-title">
      <h2 id="invitations-title">Open invitations</h2>
      <List
        caption="Open invitations, newest first"
        items={invitations}
        columns={[
          [
            'Email',
            ({ email, mailRefusedAt }) => (
              <span class="row">
                {email} {mailRefusedAt === null ? null : <Badge tone="warn">Mail refused</Badge>}
              </span>
            ),
          ],
          ['Role', ({ role }) => role],
          ['Invited by', ({ invitedBy }) => names.get(invitedBy)],
          ['Expires', ({ expiresAt }) => <Moment at={expiresAt} />],
          [
            'Actions',
            (invitation) => (managed.includes(invitation.role) ? <Revoke {...invitation} /> : null),
            'actions',
          ],
        ]}
      />
    </section>
  );
}

function Revoke({ id, email }: InvitationSummary) {
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke the invitation for ${email}?`}
      kind="danger"
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
  /** Whether a link is mailed to the address as well. */
  isMailed: boolean;
}

export function InvitedNotice({ link, email, role, expiresAt, isMailed }: Invited) {
  return (
    <ShownOnce title="Invite link created" text={link} label="invite link">
      <p>
        {isMailed
          ? `An invitation is on its way to ${email}; you can also send this link.`
          : `Send it to ${email}.`}{' '}
        Anyone with the link can join as {role}; it expires <Moment at={expiresAt} /> and won't be shown
        again.
      </p>
    </ShownOnce>
  );
}

/** What is sent to invite a member. */
export const inviteSchema = z.object({
  email: z.string().meta({
    title: 'Email address',
    description: 'Gets a link that expires in 7 days.',
    format: 'email',
  }),
  role: z.enum(roles, 'Select a role.').meta({
    title: 'Role',
    description:
      'Viewers read, operators also manage refunds, and admins also manage policies, settings and members. Owners also manage owners.',
    default: 'viewer',
  }),
});

export function InviteForm() {
  return (
    <Form
      to="/settings/members/invitations"
      answeredIn="members"
      title="Invite member"
      submit="Create invite link"
      schema={inviteSchema}
      choices={{ role: useRoleChoices() }}
    />
  );
}

/** The roles that the member may give to others. */
export function useRoleChoices(): Choices {
  return managedRoles(useMember().role).map((each) => [each, each]);
}
