import { randomBytes } from 'node:crypto';
import { createUser } from '../../../shared/people/users.ts';
import type { Role } from '../../../shared/platform/database.ts';
import { newEmail, type TestPerson } from '../people.ts';
import type { TestService } from '../service.ts';
import { DashboardVisitor } from './dashboard-visitor.ts';

/** A member of an organization, with a browser that is signed in. */
export interface DashboardMember extends TestPerson {
  visitor: DashboardVisitor;
}

/** Adds somebody to an organization, the service's own unless told, and signs in. */
export async function signInMember(
  service: TestService,
  role: Role,
  organizationId = service.organization.id,
): Promise<DashboardMember> {
  const email = newEmail();
  const password = randomBytes(9).toString('hex');
  const { id: userId } = await createUser(service.deps, {
    organizationId,
    email,
    password,
    role,
    actor: 'test',
  });
  const visitor = new DashboardVisitor(service);
  const { status } = await visitor.signIn(email, password);
  if (status !== 303) throw new Error(`Signing in was answered with ${status}`);
  // Brings the token that forms need.
  await visitor.get('/dashboard/you');
  return { userId, email, password, visitor };
}
