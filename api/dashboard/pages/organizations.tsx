import type { FastifyRequest } from 'fastify';
import { organizationsOf } from '#shared/people/members/memberships.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Link } from '../components/button.tsx';
import { Empty } from '../components/notice.tsx';
import { visitorOf } from '../http/access.ts';
import { leadTo, page } from '../http/page.ts';
import { accountPath, dashboardPath } from '../http/paths.ts';
import { Gate } from '../layout/document.tsx';
import { SignOut } from './sign-in.tsx';

/** `/dashboard`: redirects to the user's only organization, or lists them. */
export function organizationPages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { user } = visitorOf(request);
    const memberships = await organizationsOf(deps.db, user.id);
    const [only] = memberships;
    if (only !== undefined && memberships.length === 1) return leadTo(pageOf(only));
    return { email: user.email, memberships };
  };
  page(scope, dashboardPath, null, read, Organizations);
}

/** The entry page shows test data, which never moves money. */
function pageOf({ id }: { id: string }): string {
  return `${dashboardPath}/${id}/test`;
}

interface OrganizationsProps {
  /** Of the user. */
  email: string;
  memberships: Awaited<ReturnType<typeof organizationsOf>>;
}

function Organizations({ email, memberships }: OrganizationsProps) {
  return (
    <Gate title="Your organizations">
      {memberships.length === 0 ? (
        <Empty title="You are not a member of any organization">
          <p>Ask an owner or admin to invite {email}.</p>
        </Empty>
      ) : (
        <ul class="stack-tight">
          {memberships.map((membership) => (
            <li key={membership.id} class="card spread">
              <Link class="row-link" to={pageOf(membership)}>
                {membership.name}
              </Link>
              <span class="muted small">{membership.role}</span>
            </li>
          ))}
        </ul>
      )}
      <div class="spread">
        <Link to={accountPath}>Your account</Link>
        <SignOut />
      </div>
    </Gate>
  );
}
