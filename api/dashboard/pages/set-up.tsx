import { z } from 'zod';
import { createFirstOwner, needsFirstOwner } from '#shared/people/members/first-owner.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Fields, newPasswordInput } from '../components/fields.tsx';
import { emptyForm, Form } from '../components/form.tsx';
import { answerForm, type FormState, problemsOf } from '../http/forms.ts';
import { dashboardPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { beginSession } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';

const path = `${dashboardPath}/set-up`;
const schema = z.object({
  code: z.string().trim().meta({
    title: 'Setup code',
    description: 'Proves that you operate this installation. The API prints it to its log at startup.',
  }),
  organizationName: z.string().meta({ title: 'Organization name', autocomplete: 'organization' }),
  email: z.string().meta({ title: 'Your email address', format: 'email', autocomplete: 'username' }),
  password: newPasswordInput('Password'),
});

/** `/dashboard/set-up`: creates the first organization and its owner on an installation without users. */
export async function setUpPages(scope: Api, deps: ApiDependencies): Promise<void> {
  scope.get(path, async (_request, reply) => {
    if (!(await needsFirstOwner(deps.db))) return reply.redirect(dashboardPath, 303);
    return reply.send(<SetUp {...emptyForm} />);
  });

  await limitAttempts(scope, (limited) => {
    limited.post(path, (request, reply) =>
      answerForm(reply, {
        schema,
        problemsIn: problemsOf,
        again: (form) => reply.send(<SetUp {...form} />),
        run: async (entries) => {
          const { log, ip } = request;
          await beginSession(
            deps,
            request,
            reply,
            await createFirstOwner({ ...deps, log }, { ...entries, ip }),
          );
          return reply.redirect(dashboardPath, 303);
        },
      }),
    );
  });
}

function SetUp(form: FormState) {
  return (
    <Gate title="Set up the refund service">
      <p class="muted">
        Create your organization and its first owner. You can invite other members afterwards.
      </p>
      <Form to={path} form={form} submit="Create organization" isWide>
        <Fields schema={schema} form={form} />
      </Form>
    </Gate>
  );
}
