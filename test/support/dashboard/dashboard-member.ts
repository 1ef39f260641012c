import type { Role } from '#shared/platform/database.ts';
import { newPerson, type TestPerson } from '../people.ts';
import type { TestService } from '../service.ts';
import { DashboardVisitor } from './dashboard-visitor.ts';

/** A member of an organization with a signed-in visitor. */
export interface DashboardMember extends TestPerson {
  visitor: DashboardVisitor;
}

/** Adds a user to an organization, the service's own by default, and signs in. */
export async function signInMember(
  service: TestService,
  role: Role,
  organizationId = service.organization.id,
): Promise<DashboardMember> {
  const person = await newPerson(service.deps, organizationId, role);
  const visitor = new DashboardVisitor(service);
  const { status } = await visitor.signIn(person.email, person.password);
  if (status !== 303) throw new Error(`Sign-in responded with ${status}`);
  // Reads the CSRF token for forms.
  await visitor.get('/dashboard/you');
  return { ...person, visitor };
}
