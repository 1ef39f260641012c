import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  findPasswordReset,
  requestPasswordReset,
  setForgottenPassword,
} from '#shared/people/sign-in/password-reset.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink, Link } from '../components/button.tsx';
import { newPasswordInput } from '../components/fields.tsx';
import { Form } from '../components/form.tsx';
import { problemsOf } from '../http/forms.ts';
import { leadTo, page } from '../http/page.ts';
import { dashboardPath, pageNotFound, passwordResetPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { useRequest } from '../http/render.ts';
import { Gate } from '../layout/document.tsx';

const linkPath = `${passwordResetPath}/:token`;
const signInPath = `${dashboardPath}/sign-in`;
const requestSchema = z.object({
  email: z.string().meta({
    title: 'Email address',
    description: 'If a user has this address, we email a link to set a new password.',
    format: 'email',
    autocomplete: 'username',
  }),
});
const passwordSchema = z.object({
  password: newPasswordInput('New password', 'Setting it signs out all your sessions.'),
});

/** `/dashboard/password-reset`: asks for a link by mail, where the service can send mail. `.../<token>` is the link. */
export async function passwordResetPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const requireMail = () => {
    if (deps.settings.SMTP_URL === null) throw pageNotFound();
    return {};
  };
  const link = page(scope, passwordResetPath, null, requireMail, RequestLink);
  const readUser = async (request: FastifyRequest, reply: FastifyReply) => {
    const user = await findPasswordReset(deps, tokenIn(request));
    if (user === null) reply.code(404);
    return { email: user?.email ?? null };
  };
  const password = page(scope, linkPath, null, readUser, NewPassword);

  await limitAttempts(scope, (limited) => {
    const options = { scope: limited, problemsIn: problemsOf };
    link.form(
      passwordResetPath,
      null,
      requestSchema,
      async ({ ip, log }, { email }) => {
        requireMail();
        await requestPasswordReset({ ...deps, log }, { email, ip });
        return leadTo(signInPath, 'reset-requested');
      },
      options,
    );
    password.form(
      linkPath,
      null,
      passwordSchema,
      async (request, entries) => {
        await setForgottenPassword(deps, { token: tokenIn(request), ...entries });
        return leadTo(signInPath, 'password-reset');
      },
      options,
    );
  });
}

function tokenIn({ params }: FastifyRequest): string {
  return (params as { token: string }).token;
}

function RequestLink() {
  return (
    <Gate title="Forgot your password?">
      <Form to={passwordResetPath} submit="Send link" schema={requestSchema} isWide />
      <Link to={signInPath}>Back to sign-in</Link>
      <p class="small muted">
        If you sign in with your company's account, reset its password there. No email? Ask the operator of
        this service to reset your password.
      </p>
    </Gate>
  );
}

/** @param email of the user; null for a link that is no longer valid. */
function NewPassword({ email }: { email: string | null }) {
  const { url } = useRequest();
  if (email === null) return <LinkOver />;
  return (
    <Gate title="Set a new password">
      <Form to={url} submit="Set password" schema={passwordSchema} isWide>
        <input type="hidden" name="email" autocomplete="username" value={email} />
      </Form>
    </Gate>
  );
}

function LinkOver() {
  return (
    <Gate title="Link no longer valid">
      <p>This link was already used or has expired. Request a new one.</p>
      <p>
        <ButtonLink to={passwordResetPath}>Request a new link</ButtonLink>
      </p>
    </Gate>
  );
}
