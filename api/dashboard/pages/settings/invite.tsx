import { managedRoles } from '../../../../shared/people/roles.ts';
import type { Role } from '../../../../shared/platform/database.ts';
import type { Context } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { CsrfField, Field, inputProps } from '../../layout/form.tsx';
import { Moment } from '../../layout/values.tsx';
import { answeredIn, ShownOnce } from './once.tsx';
import { RoleOptions } from './role-options.tsx';

/** An invitation that was made just now: its link exists in this one answer. */
export interface Invited {
  link: string;
  email: string;
  role: Role;
  expiresAt: Date;
}

export function InvitedNotice({ link, email, role, expiresAt }: Invited) {
  return (
    <ShownOnce title="Copy the link of the invitation now" text={link} label="the link">
      <p>
        Send it to {email}; no mail is sent from here. Whoever has it can join as {role}, until{' '}
        <Moment at={expiresAt} />. It is shown this once: when it is lost, invite the address again.
      </p>
    </ShownOnce>
  );
}

interface InviteProps {
  context: Context;
  problems: FormProblems;
  /** The form as it was sent. */
  body: unknown;
}

export function Invite({ context, problems, body }: InviteProps) {
  const offered = managedRoles(context.role);
  const chosen = offered.find((role) => role === entered(body, 'role')) ?? 'viewer';
  return (
    <form
      {...answeredIn('members', `${context.base}/settings/members/invitations`)}
      class="card stack"
      aria-labelledby="invite-title"
    >
      <h2 id="invite-title">Invite somebody</h2>
      <CsrfField token={context.csrfToken} />
      <div class="fields">
        <Field
          name="email"
          label="E-mail address"
          hint="The person joins under this address."
          problem={problems.email}
        >
          <input
            {...inputProps('email', problems.email)}
            type="email"
            required
            autocomplete="off"
            value={entered(body, 'email')}
          />
        </Field>
        <Field
          name="role"
          label="Role"
          hint="A viewer reads. An operator also makes and decides refunds. An admin also changes policies, settings and members. An owner also makes owners."
          problem={problems.role}
        >
          <select {...inputProps('role', problems.role)}>
            <RoleOptions roles={offered} selected={chosen} />
          </select>
        </Field>
      </div>
      <div>
        <button type="submit" class="button" data-kind="primary">
          Make a link
        </button>
      </div>
    </form>
  );
}
