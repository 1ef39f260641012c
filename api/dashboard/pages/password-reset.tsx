import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  findPasswordReset,
  requestPasswordReset,
  setForgottenPassword,
} from '#shared/people/sign-in/password-reset.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink, Submit } from '../components/button.tsx';
import { emptyForm, FormNotice, NewPasswordField, TextField } from '../components/form.tsx';
import { answerForm, type FormState, problemsOf } from '../http/forms.ts';
import { dashboardPath, pageNotFound, passwordResetPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { sendPage, useRequest } from '../http/render.ts';
import { Gate } from '../layout/document.tsx';
import { leadTo } from '../layout/done.tsx';

const linkPath = `${passwordResetPath}/:token`;
const signInPath = `${dashboardPath}/sign-in`;
const requestSchema = z.object({ email: z.string() });
const passwordSchema = z.object({ password: z.string() });

/** `/dashboard/password-reset`: asks for a link by mail, where the service can send mail. `.../<token>` is the link. */
export async function passwordResetPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const requireMail = async () => {
    if (deps.settings.SMTP_URL === null) throw pageNotFound();
  };
  /** Shows the page of a link while it is valid. */
  const show = async (reply: FastifyReply, token: string, form: FormState) => {
    const user = await findPasswordReset(deps, token);
    if (user === null) return sendPage(reply.code(404), <LinkOver />);
    return sendPage(reply, <NewPassword email={user.email} form={form} />);
  };

  scope.get(passwordResetPath, { preHandler: requireMail }, async (_request, reply) =>
    sendPage(reply, <RequestLink form={emptyForm} />),
  );

  scope.get<LinkRoute>(linkPath, ({ params }, reply) => show(reply, params.token, emptyForm));

  await limitAttempts(scope, (limited) => {
    limited.post(passwordResetPath, { preHandler: requireMail }, ({ ip, log }, reply) =>
      answerForm(reply, {
        schema: requestSchema,
        problemsIn: problemsOf,
        again: (form) => sendPage(reply, <RequestLink form={form} />),
        run: async ({ email }) => {
          await requestPasswordReset({ ...deps, log }, { email, ip });
          return leadTo(reply, signInPath, 'reset-requested');
        },
      }),
    );

    limited.post<LinkRoute>(linkPath, async ({ params: { token } }, reply) => {
      if ((await findPasswordReset(deps, token)) === null) return await show(reply, token, emptyForm);
      return await answerForm(reply, {
        schema: passwordSchema,
        problemsIn: problemsOf,
        again: (form) => show(reply, token, form),
        run: async ({ password }) => {
          await setForgottenPassword(deps, { token, password });
          return leadTo(reply, signInPath, 'password-reset');
        },
      });
    });
  });
}

interface LinkRoute {
  Params: { token: string };
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
          hint="If a user has this address, we email a link to set a new password."
          type="email"
          autocomplete="username"
          required
        />
        <Submit kind="primary">Send link</Submit>
      </form>
      <a href={signInPath}>Back to sign-in</a>
      <p class="small muted">
        If you sign in with your company's account, reset its password there. No email? Ask the operator of
        this service to reset your password.
      </p>
    </Gate>
  );
}

function NewPassword({ email, form }: { email: string; form: FormState }) {
  return (
    <Gate title="Set a new password">
      <form method="post" action={useRequest().url} class="card stack">
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
