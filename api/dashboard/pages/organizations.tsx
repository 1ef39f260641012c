import { organizationsOf } from '#shared/people/members/memberships.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Empty } from '../components/notice.tsx';
import { visitorOf } from '../http/access.ts';
import { accountPath, dashboardPath } from '../http/paths.ts';
import { Gate } from '../layout/document.tsx';
import { SignOut } from './sign-in.tsx';

/** `/dashboard`: redirects to the user's only organization, or lists them. */
export function organizationPages(scope: Api, deps: ApiDependencies): void {
  scope.get(dashboardPath, async (request, reply) => {
    const { user } = visitorOf(request);
    const memberships = await organizationsOf(deps.db, user.id);
    const [only] = memberships;
    if (only !== undefined && memberships.length === 1) return reply.redirect(pageOf(only), 303);
    return reply.send(<Organizations email={user.email} memberships={memberships} />);
  });
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
              <a class="row-link" href={pageOf(membership)}>
                {membership.name}
              </a>
              <span class="muted small">{membership.role}</span>
            </li>
          ))}
        </ul>
      )}
      <div class="spread">
        <a href={accountPath}>Your account</a>
        <SignOut />
      </div>
    </Gate>
  );
}
