import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acceptAsNewPerson, acceptAsUser } from '../../../shared/people/accept-invitation.ts';
import { findInvitation, type OpenInvitation } from '../../../shared/people/invitations.ts';
import { hasUser } from '../../../shared/people/users.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { type FormProblems, problemsOf, readForm } from '../http/forms.ts';
import { limitTries } from '../http/limit-tries.ts';
import { dashboardPath } from '../http/paths.ts';
import { sendPage } from '../http/render.ts';
import { beginSession } from '../http/session.ts';
import { signedIn } from '../http/signed-in.ts';
import { FormNotice } from '../layout/form.tsx';
import { Gate } from '../layout/gate.tsx';
import { NewPasswordField } from '../layout/new-password-field.tsx';

const path = `${dashboardPath}/invitation/:token`;
const formSchema = z.object({ password: z.string() });

/** `/dashboard/invitation/<token>`: whoever has the link joins the organization under the address that was invited. */
export async function invitationPages(scope: Api, deps: ApiDependencies): Promise<void> {
  scope.get<{ Params: { token: string } }>(path, async (request, reply) => {
    const { token } = request.params;
    const invitation = await findInvitation(deps, token);
    if (invitation === null) return sendPage(reply.code(404), <Gone />);
    return await show(deps, request, reply, invitation, {});
  });

  await limitTries(scope, (limited) => {
    limited.post<{ Params: { token: string } }>(path, async (request, reply) => {
      const { token } = request.params;
      const invitation = await findInvitation(deps, token);
      if (invitation === null) return sendPage(reply.code(404), <Gone />);
      const visitor = await signedIn(deps, request, reply);
      if (visitor?.user.email === invitation.email) {
        const { sessionId: sid } = request.session;
        await acceptAsUser(deps, { token, userId: visitor.user.id, sid });
      } else {
        const form = readForm(formSchema, request.body);
        if (form.kind === 'invalid')
          return await show(deps, request, reply.code(400), invitation, form.problems);
        try {
          const { password } = form.value;
          await beginSession(deps, request, reply, await acceptAsNewPerson(deps, { token, password }));
        } catch (error) {
          const problems = problemsOf(error, ['password']);
          return await show(deps, request, reply.code(400), invitation, problems);
        }
      }
      return reply.redirect(`${dashboardPath}/${invitation.organizationId}/test`, 303);
    });
  });
}

async function show(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  invitation: OpenInvitation,
  problems: FormProblems,
): Promise<FastifyReply> {
  const visitor = await signedIn(deps, request, reply);
  const { email } = invitation;
  const hasAccount = await hasUser(deps.db, email);
  const asked = { email: visitor?.user.email ?? null, hasAccount, address: request.url };
  return sendPage(reply, <Invitation invitation={invitation} visitor={asked} problems={problems} />);
}

interface InvitationProps {
  invitation: OpenInvitation;
  visitor: {
    /** Of who is signed in. */
    email: string | null;
    /** True when the invited address has signed up already. */
    hasAccount: boolean;
    address: string;
  };
  problems: FormProblems;
}

function Invitation({ invitation, visitor, problems }: InvitationProps) {
  const { organizationName, role, email } = invitation;
  const { hasAccount } = visitor;
  return (
    <Gate title={`Join ${organizationName}`}>
      <p>
        You are invited as <strong>{role}</strong>, under the address <strong>{email}</strong>.
      </p>
      <FormNotice problems={problems} />
      {hasAccount && visitor.email !== email ? (
        <SignInFirst signedInAs={visitor.email} address={visitor.address} />
      ) : (
        <form method="post" action={visitor.address} class="card stack">
          {hasAccount ? null : (
            <>
              <input type="hidden" name="email" autocomplete="username" value={email} />
              <NewPasswordField name="password" label="Choose a password" problem={problems.password} />
            </>
          )}
          <button type="submit" class="button" data-kind="primary">
            Join {organizationName}
          </button>
        </form>
      )}
    </Gate>
  );
}

function SignInFirst({ signedInAs, address }: { signedInAs: string | null; address: string }) {
  return (
    <div class="card stack">
      <p>
        {signedInAs === null
          ? 'This address has an account already. Sign in with it to join.'
          : `You are signed in as ${signedInAs}. Sign out, and open the link again with the invited address.`}
      </p>
      {signedInAs === null ? (
        <a
          class="button"
          data-kind="primary"
          href={`${dashboardPath}/sign-in?next=${encodeURIComponent(address)}`}
        >
          Sign in
        </a>
      ) : (
        <a class="button" href={dashboardPath}>
          To the dashboard
        </a>
      )}
    </div>
  );
}

function Gone() {
  return (
    <Gate title="This invitation is over">
      <p>It was used, revoked, or is older than a week. Ask whoever invited you for a new one.</p>
      <p>
        <a class="button" href={dashboardPath}>
          To the dashboard
        </a>
      </p>
    </Gate>
  );
}
