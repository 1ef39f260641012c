import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { maxFourEyesDays, setFourEyesDays } from '#shared/organizations/four-eyes-days.ts';
import { mayAct } from '#shared/people/roles.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { Fields } from '../../components/fields.tsx';
import { Form, type FormState } from '../../components/form.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { readForm } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/approvals';
const problem = `Must be a whole number from 0 to ${maxFourEyesDays}.`;
const formSchema = z.object({
  days: z
    .string()
    .trim()
    .regex(/^\d{1,2}$/, problem)
    .transform(Number)
    .refine((days) => days <= maxFourEyesDays, problem)
    .meta({
      title: 'Days after an accepted invitation',
      description:
        "During this time, the inviter and the invited member cannot approve each other's refunds. Enter 0 to turn this off.",
      format: 'digits',
      maxLength: 2,
    }),
});

/** `/settings/approvals`: who may approve whose refunds. Only owners change it, because an admin can invite a second account. */
export function approvalPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'viewer' } }, async (request, reply) => {
    const context = contextOf(request);
    const { fourEyesDays } = await findOrganization(deps.db, context.organization.id);
    return show(reply, context, { body: { days: String(fourEyesDays) }, problems: {} });
  });

  scope.post(path, { config: { role: 'owner', confirm: true } }, async (request, reply) => {
    const context = contextOf(request);
    const form = readForm(formSchema, request.body);
    if (form.kind === 'invalid') {
      return show(reply.code(400), context, { body: request.body, problems: form.problems });
    }
    const { organization, actor } = context;
    await setFourEyesDays(deps, { organizationId: organization.id, actor, ...form.value });
    return reply.redirect(doneAt(`${context.base}${path}`, 'approvals-saved'), 303);
  });
}

function show(reply: FastifyReply, context: Context, form: FormState): FastifyReply {
  const isOwner = mayAct(context.role, 'owner');
  return sendPage(
    reply,
    <SettingsFrame context={context} page="approvals">
      {isOwner ? (
        <Form csrfToken={context.csrfToken} to={`${context.base}${path}`} submit="Save">
          <Rule form={form} />
        </Form>
      ) : (
        <section class="card stack">
          <Rule form={form} isDisabled />
          <p class="small muted">Only owners can change this.</p>
        </section>
      )}
    </SettingsFrame>,
  );
}

function Rule({ form, isDisabled }: { form: FormState; isDisabled?: boolean }) {
  return (
    <>
      <p>An approval takes two people. A person and the API keys that they created count as one.</p>
      <Fields schema={formSchema} form={form} isDisabled={isDisabled} />
    </>
  );
}
