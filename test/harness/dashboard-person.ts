import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Role } from '../../shared/db.ts';
import { createUser } from '../../shared/people/users.ts';
import { DashboardVisitor } from './dashboard-visitor.ts';
import type { TestService } from './service.ts';

/** A member of an organization, in front of a browser in which this member has signed in. */
export interface DashboardPerson {
  userId: string;
  email: string;
  visitor: DashboardVisitor;
}

/** Adds somebody to the service's organization, or to another, and signs this person in. */
export async function signInAs(
  service: TestService,
  role: Role,
  organizationId: string = service.organization.id,
): Promise<DashboardPerson> {
  const password = randomBytes(9).toString('hex');
  const email = `${role}-${randomBytes(5).toString('hex')}@example.com`;
  const { id: userId } = await createUser(service.deps, {
    organizationId,
    email,
    password,
    role,
    actor: 'test',
  });
  const visitor = new DashboardVisitor(service);
  expect((await visitor.signIn(email, password)).status).toBe(303);
  return { userId, email, visitor };
}
