import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acceptAsNewUser, acceptAsUser } from '../../../shared/people/accept-invitation.ts';
import { findInvitation, type OpenInvitation } from '../../../shared/people/invitations.ts';
import { hasUser } from '../../../shared/people/users.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { type FormProblems, problemsOf, readForm } from '../http/forms.ts';
import { dashboardPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { sendPage } from '../http/render.ts';
import { beginSession, findVisitor } from '../http/session.ts';
import { ButtonLink, Submit } from '../layout/button.tsx';
import { Gate } from '../layout/document.tsx';
import { FormNotice, NewPasswordField } from '../layout/form.tsx';

const path = `${dashboardPath}/invitation/:token`;
const formSchema = z.object({ password: z.string() });

/** `/dashboard/invitation/<token>`: anyone with the link can join the organization as the invited address. */
export async function invitationPages(scope: Api, deps: ApiDependencies): Promise<void> {
  scope.get<{ Params: { token: string } }>(path, async (request, reply) => {
    const { token } = request.params;
    const invitation = await findInvitation(deps, token);
    if (invitation === null) return sendPage(reply.code(404), <InvitationClosed />);
    return await show(deps, request, reply, invitation, {});
  });

  await limitAttempts(scope, (limited) => {
    limited.post<{ Params: { token: string } }>(path, async (request, reply) => {
      const { token } = request.params;
      const invitation = await findInvitation(deps, token);
      if (invitation === null) return sendPage(reply.code(404), <InvitationClosed />);
      const visitor = await findVisitor(deps, request, reply);
      if (visitor?.user.email === invitation.email) {
        const { sessionId: sid } = request.session;
        await acceptAsUser(deps, { token, userId: visitor.user.id, sid });
      } else {
        const form = readForm(formSchema, request.body);
        if (form.kind === 'invalid')
          return await show(deps, request, reply.code(400), invitation, form.problems);
        try {
          const { password } = form.value;
          await beginSession(deps, request, reply, await acceptAsNewUser(deps, { token, password }));
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
  const visitor = await findVisitor(deps, request, reply);
  const { email } = invitation;
  const props = {
    invitation,
    problems,
    signedInAs: visitor?.user.email ?? null,
    hasAccount: await hasUser(deps.db, email),
    address: request.url,
  };
  return sendPage(reply, <Invitation {...props} />);
}

interface InvitationProps {
  invitation: OpenInvitation;
  problems: FormProblems;
  /** The email address of the signed-in user. */
  signedInAs: string | null;
  /** Whether the invited address has a user. */
  hasAccount: boolean;
  /** The address of this page. */
  address: string;
}

function Invitation({ invitation, problems, signedInAs, hasAccount, address }: InvitationProps) {
  const { organizationName, role, email } = invitation;
  return (
    <Gate title={`Join ${organizationName}`}>
      <p>
        You are invited to join as <strong>{role}</strong> with the address <strong>{email}</strong>.
      </p>
      <FormNotice problems={problems} />
      {hasAccount && signedInAs !== email ? (
        <SignInFirst signedInAs={signedInAs} address={address} />
      ) : (
        <form method="post" action={address} class="card stack">
          {hasAccount ? null : (
            <>
              <input type="hidden" name="email" autocomplete="username" value={email} />
              <NewPasswordField form={{ body: {}, problems }} name="password" label="Password" />
            </>
          )}
          <Submit kind="primary">Join {organizationName}</Submit>
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
          ? 'This address already has an account. Sign in to join.'
          : `You are signed in as ${signedInAs}. Sign out, then open this link again and sign in as the invited address.`}
      </p>
      {signedInAs === null ? (
        <ButtonLink kind="primary" to={`${dashboardPath}/sign-in?next=${encodeURIComponent(address)}`}>
          Sign in
        </ButtonLink>
      ) : (
        <ButtonLink to={dashboardPath}>Go to dashboard</ButtonLink>
      )}
    </div>
  );
}

function InvitationClosed() {
  return (
    <Gate title="Invitation no longer valid">
      <p>This invitation was already used or revoked, or has expired. Ask for a new one.</p>
      <p>
        <ButtonLink to={dashboardPath}>Go to dashboard</ButtonLink>
      </p>
    </Gate>
  );
}
