import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { acceptAsNewUser, acceptAsUser } from '#shared/people/members/accept-invitation.ts';
import { findInvitation, type OpenInvitation } from '#shared/people/members/invitations.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink } from '../components/button.tsx';
import { Fields, newPasswordInput } from '../components/fields.tsx';
import { Form, FormNotice } from '../components/form.tsx';
import { answerForm, type FormProblems, problemsOf } from '../http/forms.ts';
import { dashboardPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { useRequest } from '../http/render.ts';
import { beginSession, findVisitor } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';

const path = `${dashboardPath}/invitation/:token`;
const schema = z.object({ password: newPasswordInput('Password') });

interface LinkRoute {
  Params: { token: string };
}

/** `/dashboard/invitation/<token>`: anyone with the link can join the organization as the invited email address. */
export async function invitationPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const show = async (
    reply: FastifyReply,
    invitation: OpenInvitation | null,
    problems: FormProblems = {},
  ) => {
    if (invitation === null) return reply.code(404).send(<InvitationClosed />);
    const visitor = await findVisitor(deps, reply.request, reply);
    return reply.send(<Invitation {...{ invitation, problems, signedInAs: visitor?.user.email }} />);
  };

  scope.get<LinkRoute>(path, async ({ params }, reply) =>
    show(reply, await findInvitation(deps, params.token)),
  );

  await limitAttempts(scope, (limited) => {
    limited.post<LinkRoute>(path, async (request, reply) => {
      const { token } = request.params;
      const invitation = await findInvitation(deps, token);
      if (invitation === null) return await show(reply, null);
      const welcome = () => reply.redirect(`${dashboardPath}/${invitation.organizationId}/test`, 303);
      const visitor = await findVisitor(deps, request, reply);
      if (visitor === null) {
        return await answerForm(reply, {
          schema,
          problemsIn: problemsOf,
          again: ({ problems }) => show(reply, invitation, problems),
          run: async ({ password }) => {
            await beginSession(deps, request, reply, await acceptAsNewUser(deps, { token, password }));
            return welcome();
          },
        });
      }
      if (visitor.user.email !== invitation.email) return await show(reply.code(400), invitation);
      await acceptAsUser(deps, { token, userId: visitor.user.id, sid: request.session.sessionId });
      return welcome();
    });
  });
}

interface InvitationProps {
  invitation: OpenInvitation;
  problems: FormProblems;
  /** The email address of the signed-in user. */
  signedInAs: string | undefined;
}

/** The page does not depend on whether the email address has a user, because the inviting admin can open it as well. */
function Invitation({ invitation, problems, signedInAs }: InvitationProps) {
  const { url } = useRequest();
  const { organizationName, role, email } = invitation;
  return (
    <Gate title={`Join ${organizationName}`}>
      <p>
        You are invited to join as <strong>{role}</strong> with the email address <strong>{email}</strong>.
      </p>
      <FormNotice problems={problems} />
      {signedInAs !== undefined && signedInAs !== email ? (
        <SignedInAsAnother signedInAs={signedInAs} />
      ) : (
        <Form to={url} submit={`Join ${organizationName}`} isWide>
          {signedInAs === undefined ? (
            <>
              <p>
                If you already sign in with this email address,{' '}
                <a href={`${dashboardPath}/sign-in?next=${encodeURIComponent(url)}`}>sign in</a> to join.
                Otherwise set a password.
              </p>
              <input type="hidden" name="email" autocomplete="username" value={email} />
              <Fields schema={schema} form={{ body: {}, problems }} />
            </>
          ) : null}
        </Form>
      )}
    </Gate>
  );
}

function SignedInAsAnother({ signedInAs }: { signedInAs: string }) {
  return (
    <div class="card stack">
      <p>
        You are signed in as {signedInAs}. Sign out, then open this link again as the person who is invited.
      </p>
      <ButtonLink to={dashboardPath}>Go to dashboard</ButtonLink>
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
