import { z } from 'zod';
import { createFirstOwner, needsFirstOwner } from '#shared/people/members/first-owner.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { newPasswordInput } from '../components/fields.tsx';
import { Form } from '../components/form.tsx';
import { problemsOf } from '../http/forms.ts';
import { leadTo, page } from '../http/page.ts';
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
  const read = async () => ((await needsFirstOwner(deps.db)) ? {} : leadTo(dashboardPath));
  const setUp = page(scope, path, null, read, SetUp);
  await limitAttempts(scope, (limited) => {
    setUp.form(
      path,
      null,
      schema,
      async (request, entries, reply) => {
        const { log, ip } = request;
        const proof = await createFirstOwner({ ...deps, log }, { ...entries, ip });
        await beginSession(deps, request, reply, proof);
        return leadTo(dashboardPath);
      },
      { scope: limited, problemsIn: problemsOf },
    );
  });
}

function SetUp() {
  return (
    <Gate title="Set up the refund service">
      <p class="muted">
        Create your organization and its first owner. You can invite other members afterwards.
      </p>
      <Form to={path} submit="Create organization" schema={schema} isWide />
    </Gate>
  );
}
