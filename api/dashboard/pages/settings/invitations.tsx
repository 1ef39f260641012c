import type { InvitationSummary } from '../../../../shared/people/invitations.ts';
import { managedRoles } from '../../../../shared/people/roles.ts';
import type { Context } from '../../access.ts';
import { Confirm } from '../../layout/dialog.tsx';
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
        <table>
          <thead>
            <tr>
              <th scope="col">Invited</th>
              <th scope="col">Role</th>
              <th scope="col">By</th>
              <th scope="col">Until</th>
              <th scope="col">
                <span class="visually-hidden">What can be done</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {invitations.map((invitation) => (
              <tr key={invitation.id}>
                <th scope="row">{invitation.email}</th>
                <td>{invitation.role}</td>
                <td>{names.get(invitation.invitedBy)}</td>
                <td>
                  <Moment at={invitation.expiresAt} />
                </td>
                <td>
                  {managedRoles(context.role).includes(invitation.role) ? (
                    <Withdraw context={context} invitation={invitation} />
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface WithdrawProps {
  context: Context;
  invitation: InvitationSummary;
}

function Withdraw({ context, invitation: { id, email } }: WithdrawProps) {
  return (
    <Confirm
      id={`withdraw-${id}`}
      action="Withdraw"
      title={`Withdraw the invitation of ${email}?`}
      kind="danger"
      to={`${context.base}/settings/members/invitations/${id}/withdraw`}
      csrfToken={context.csrfToken}
    >
      <p>Its link leads nowhere from then on. You can invite the address again.</p>
    </Confirm>
  );
}
