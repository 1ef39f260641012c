import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { acceptAsNewUser, acceptAsUser } from '#shared/people/members/accept-invitation.ts';
import { findInvitation, type OpenInvitation } from '#shared/people/members/invitations.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink, Link } from '../components/button.tsx';
import { Fields, newPasswordInput } from '../components/fields.tsx';
import { Form } from '../components/form.tsx';
import { type FormProblems, problemsOf, readForm } from '../http/forms.ts';
import { leadTo, page } from '../http/page.ts';
import { dashboardPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { useRequest } from '../http/render.ts';
import { beginSession, findVisitor } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';

const path = `${dashboardPath}/invitation/:token`;
const schema = z.object({ password: newPasswordInput('Password') });

/** `/dashboard/invitation/<token>`: anyone with the link can join the organization as the invited email address. */
export async function invitationPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const read = async (request: FastifyRequest, reply: FastifyReply) => {
    const invitation = await findInvitation(deps, tokenIn(request));
    if (invitation === null) reply.code(404);
    const visitor = await findVisitor(deps, request, reply);
    return { invitation, signedInAs: visitor?.user.email };
  };
  const invitation = page(scope, path, null, read, Invitation);

  await limitAttempts(scope, (limited) => {
    const join = async (request: FastifyRequest, entries: unknown, reply: FastifyReply) => {
      const token = tokenIn(request);
      const open = await findInvitation(deps, token);
      if (open === null) return {};
      const visitor = await findVisitor(deps, request, reply);
      if (visitor === null) {
        const reading = readForm(schema, entries);
        if (reading.kind === 'invalid') return refuse(request, reply, reading.problems);
        await beginSession(deps, request, reply, await acceptAsNewUser(deps, { token, ...reading.value }));
      } else {
        if (visitor.user.email !== open.email) return refuse(request, reply, {});
        await acceptAsUser(deps, { token, userId: visitor.user.id, sid: request.session.sessionId });
      }
      return leadTo(`${dashboardPath}/${open.organizationId}/test`);
    };
    invitation.form(path, null, z.unknown(), join, {
      scope: limited,
      problemsIn: (error) => problemsOf(error, Object.keys(schema.shape)),
    });
  });
}

/** Shows the page again. The fields depend on whether someone is signed in. */
function refuse(request: FastifyRequest, reply: FastifyReply, problems: FormProblems) {
  reply.code(400);
  request.submitted = { body: request.body, problems };
  return {};
}

function tokenIn({ params }: FastifyRequest): string {
  return (params as { token: string }).token;
}

interface InvitationProps {
  /** Null for one that is no longer open. */
  invitation: OpenInvitation | null;
  /** The email address of the signed-in user. */
  signedInAs: string | undefined;
}

/** The page does not depend on whether the email address has a user, because the inviting admin can open it as well. */
function Invitation({ invitation, signedInAs }: InvitationProps) {
  const { url } = useRequest();
  if (invitation === null) return <InvitationClosed />;
  const { organizationName, role, email } = invitation;
  return (
    <Gate title={`Join ${organizationName}`}>
      <p>
        You are invited to join as <strong>{role}</strong> with the email address <strong>{email}</strong>.
      </p>
      {signedInAs !== undefined && signedInAs !== email ? (
        <SignedInAsAnother signedInAs={signedInAs} />
      ) : (
        <Form to={url} submit={`Join ${organizationName}`} focus="password" isWide>
          {signedInAs === undefined ? (
            <>
              <p>
                If you already sign in with this email address,{' '}
                <Link to={`${dashboardPath}/sign-in?next=${encodeURIComponent(url)}`}>sign in</Link> to join.
                Otherwise set a password.
              </p>
              <input type="hidden" name="email" autocomplete="username" value={email} />
              <Fields schema={schema} />
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
