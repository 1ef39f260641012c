import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  findPasswordReset,
  requestPasswordReset,
  setForgottenPassword,
} from '#shared/people/sign-in/password-reset.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink } from '../components/button.tsx';
import { Fields, newPasswordInput } from '../components/fields.tsx';
import { emptyForm, Form } from '../components/form.tsx';
import { answerForm, type FormState, problemsOf } from '../http/forms.ts';
import { dashboardPath, pageNotFound, passwordResetPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { useRequest } from '../http/render.ts';
import { Gate } from '../layout/document.tsx';
import { leadTo } from '../layout/done.tsx';

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
  const requireMail = async () => {
    if (deps.settings.SMTP_URL === null) throw pageNotFound();
  };
  /** Shows the page of a link while it is valid. */
  const show = async (reply: FastifyReply, token: string, form: FormState) => {
    const user = await findPasswordReset(deps, token);
    if (user === null) return reply.code(404).send(<LinkOver />);
    return reply.send(<NewPassword email={user.email} form={form} />);
  };

  scope.get(passwordResetPath, { preHandler: requireMail }, async (_request, reply) =>
    reply.send(<RequestLink form={emptyForm} />),
  );

  scope.get<LinkRoute>(linkPath, ({ params }, reply) => show(reply, params.token, emptyForm));

  await limitAttempts(scope, (limited) => {
    limited.post(passwordResetPath, { preHandler: requireMail }, ({ ip, log }, reply) =>
      answerForm(reply, {
        schema: requestSchema,
        problemsIn: problemsOf,
        again: (form) => reply.send(<RequestLink form={form} />),
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
      <Form to={passwordResetPath} form={form} submit="Send link" isWide>
        <Fields schema={requestSchema} form={form} />
      </Form>
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
      <Form to={useRequest().url} form={form} submit="Set password" isWide>
        <input type="hidden" name="email" autocomplete="username" value={email} />
        <Fields schema={passwordSchema} form={form} />
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
