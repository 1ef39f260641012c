import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import {
  maxFourEyesDays,
  setFourEyesDays,
  setHourlyConfirmation,
} from '#shared/organizations/organization-settings.ts';
import type { Organization } from '#shared/platform/database.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { Fields } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { EntriesProvider } from '../../components/inputs.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { page } from '../../http/page.ts';
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
  hourly: z.stringbool().default(false).meta({
    title: 'Confirm once an hour',
    description:
      'Members confirm their identity once an hour, not every ten minutes, for refunds that a policy with an approval threshold lets them create without approval.',
    type: 'boolean',
  }),
});

/** `/settings/approvals`: who may approve whose refunds. Only owners change it, because an admin can invite a second account. */
export function approvalPages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) =>
    await findOrganization(deps.db, contextOf(request).organization.id);
  const approvals = page(scope, path, 'viewer', read, Approvals);
  approvals.form(path, confirmed('owner'), schema, async (request, { days, hourly }) => {
    await setFourEyesDays(deps, { ...actingIn(request), days });
    await setHourlyConfirmation(deps, { ...actingIn(request), isHourly: hourly });
    return 'approvals-saved';
  });
}

function Approvals({ fourEyesDays, confirmsHourly }: Pick<Organization, 'fourEyesDays' | 'confirmsHourly'>) {
  const initial = { days: String(fourEyesDays), hourly: confirmsHourly ? 'true' : '' };
  const rule = <p>An approval takes two people. A person and the API keys that they created count as one.</p>;
  return (
    <SettingsFrame page="approvals">
      {mayAct(useMember().role, 'owner') ? (
        <Form to={path} submit="Save" schema={schema} initial={initial}>
          {rule}
        </Form>
      ) : (
        <section class="card stack">
          {rule}
          <EntriesProvider value={{ body: initial, problems: {} }}>
            <Fields schema={schema} isDisabled />
          </EntriesProvider>
          <p class="small muted">Only owners can change this.</p>
        </section>
      )}
    </SettingsFrame>
  );
}
