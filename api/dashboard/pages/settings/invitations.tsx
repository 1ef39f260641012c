import type { InvitationSummary } from '../../../../shared/people/invitations.ts';
import { managedRoles } from '../../../../shared/people/roles.ts';
import type { Context } from '../../http/access.ts';
import { Confirm } from '../../layout/dialog.tsx';
import { type Column, Table } from '../../layout/table.tsx';
import { Moment } from '../../layout/values.tsx';

interface InvitationsProps {
  context: Context;
  invitations: readonly InvitationSummary[];
  /** Who made them, in words. */
  names: ReadonlyMap<string, string>;
}

/** The invitations that can be accepted; nothing when there are none. */
export function Invitations({ context, invitations, names }: InvitationsProps) {
  if (invitations.length === 0) return null;
  return (
    <section class="stack-tight" aria-labelledby="invitations-title">
      <h2 id="invitations-title">Open invitations</h2>
      <div class="card card-flush table-scroll">
        <Table
          caption="Open invitations, the newest first"
          columns={columns}
          rows={invitations.map((invitation) => ({
            key: invitation.id,
            cells: [
              invitation.email,
              invitation.role,
              names.get(invitation.invitedBy),
              <Moment at={invitation.expiresAt} key="until" />,
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

const columns: readonly Column[] = [
  { title: 'Invited' },
  { title: 'Role' },
  { title: 'By' },
  { title: 'Until' },
  { title: 'What can be done', kind: 'actions' },
];

interface RevokeProps {
  context: Context;
  invitation: InvitationSummary;
}

function Revoke({ context, invitation: { id, email } }: RevokeProps) {
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke the invitation of ${email}?`}
      kind="danger"
      to={`${context.base}/settings/members/invitations/${id}/revoke`}
      csrfToken={context.csrfToken}
    >
      <p>Its link leads nowhere from then on. You can invite the address again.</p>
    </Confirm>
  );
}
