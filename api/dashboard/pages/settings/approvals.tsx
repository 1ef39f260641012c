import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { maxFourEyesDays, setFourEyesDays } from '#shared/organizations/organization-settings.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { Fields } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import type { FormState } from '../../http/forms.ts';
import { changesOf } from '../../layout/changes.ts';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/approvals';
const problem = `Must be a whole number from 0 to ${maxFourEyesDays}.`;
const schema = z.object({
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
  scope.get(path, needs('viewer'), async (request, reply) => {
    const { fourEyesDays } = await findOrganization(deps.db, contextOf(request).organization.id);
    return reply.send(<Approvals body={{ days: String(fourEyesDays) }} problems={{}} />);
  });

  const again = (reply: FastifyReply, form: FormState) => reply.send(<Approvals {...form} />);
  const saving = { ...needs('owner', 'confirmed'), schema, again };
  const change = changesOf(scope, path);
  change(path, saving, 'approvals-saved', (request, { days }) =>
    setFourEyesDays(deps, { ...actingIn(request), days }),
  );
}

function Approvals(form: FormState) {
  const isOwner = mayAct(useMember().role, 'owner');
  const rule = (
    <>
      <p>An approval takes two people. A person and the API keys that they created count as one.</p>
      <Fields schema={schema} form={form} isDisabled={!isOwner} />
    </>
  );
  return (
    <SettingsFrame page="approvals">
      {isOwner ? (
        <Form to={path} submit="Save">
          {rule}
        </Form>
      ) : (
        <section class="card stack">
          {rule}
          <p class="small muted">Only owners can change this.</p>
        </section>
      )}
    </SettingsFrame>
  );
}
