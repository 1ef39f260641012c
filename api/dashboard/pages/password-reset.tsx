import { z } from 'zod';
import {
  findPasswordReset,
  requestPasswordReset,
  setForgottenPassword,
} from '#shared/people/sign-in/password-reset.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink, Submit } from '../components/button.tsx';
import { emptyForm, FormNotice, type FormState, NewPasswordField, TextField } from '../components/form.tsx';
import { problemsOf, readForm } from '../http/forms.ts';
import { dashboardPath, pageNotFound, passwordResetPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { sendPage } from '../http/render.ts';
import { Gate } from '../layout/document.tsx';
import { doneAt } from '../layout/done.tsx';

const linkPath = `${passwordResetPath}/:token`;
const signInPath = `${dashboardPath}/sign-in`;
const requestSchema = z.object({ email: z.string() });
const passwordSchema = z.object({ password: z.string() });

/** `/dashboard/password-reset`: asks for a link by mail, where the service can send mail. `.../<token>` is the link. */
export async function passwordResetPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const requireMail = () => {
    if (deps.settings.SMTP_URL === null) throw pageNotFound();
  };

  scope.get(passwordResetPath, async (_request, reply) => {
    requireMail();
    return sendPage(reply, <RequestLink form={emptyForm} />);
  });

  scope.get<{ Params: { token: string } }>(linkPath, async (request, reply) => {
    const user = await findPasswordReset(deps, request.params.token);
    if (user === null) return sendPage(reply.code(404), <LinkOver />);
    return sendPage(reply, <NewPassword email={user.email} url={request.url} form={emptyForm} />);
  });

  await limitAttempts(scope, (limited) => {
    limited.post(passwordResetPath, async ({ body, ip, log }, reply) => {
      requireMail();
      const again = (problems: FormState['problems']) =>
        sendPage(reply.code(400), <RequestLink form={{ body, problems }} />);
      const form = readForm(requestSchema, body);
      if (form.kind === 'invalid') return again(form.problems);
      try {
        await requestPasswordReset({ ...deps, log }, { email: form.value.email, ip });
      } catch (error) {
        return again(problemsOf(error, ['email']));
      }
      return reply.redirect(doneAt(signInPath, 'reset-requested'), 303);
    });

    limited.post<{ Params: { token: string } }>(linkPath, async ({ params, body, url }, reply) => {
      const { token } = params;
      const user = await findPasswordReset(deps, token);
      if (user === null) return sendPage(reply.code(404), <LinkOver />);
      const again = (problems: FormState['problems']) =>
        sendPage(reply.code(400), <NewPassword email={user.email} url={url} form={{ body: {}, problems }} />);
      const form = readForm(passwordSchema, body);
      if (form.kind === 'invalid') return again(form.problems);
      try {
        await setForgottenPassword(deps, { token, password: form.value.password });
      } catch (error) {
        return again(problemsOf(error, ['password']));
      }
      return reply.redirect(doneAt(signInPath, 'password-reset'), 303);
    });
  });
}

function RequestLink({ form }: { form: FormState }) {
  return (
    <Gate title="Forgot your password?">
      <form method="post" action={passwordResetPath} class="card stack">
        <FormNotice problems={form.problems} />
        <TextField
          form={form}
          name="email"
          label="Email address"
          hint="Gets a link to set a new password, if it has a user here."
          type="email"
          autocomplete="username"
          required
        />
        <Submit kind="primary">Send link</Submit>
      </form>
      <a href={signInPath}>Back to sign-in</a>
      <p class="small muted">
        If you sign in with your company's account, your password is there. No mail? Ask the operator of this
        service to reset it.
      </p>
    </Gate>
  );
}

function NewPassword({ email, url, form }: { email: string; url: string; form: FormState }) {
  return (
    <Gate title="Set a new password">
      <form method="post" action={url} class="card stack">
        <FormNotice problems={form.problems} />
        <input type="hidden" name="email" autocomplete="username" value={email} />
        <NewPasswordField
          form={form}
          name="password"
          label="New password"
          consequence="Setting it signs out all your sessions."
        />
        <Submit kind="primary">Set password</Submit>
      </form>
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
