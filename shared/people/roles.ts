import type { Role } from '../platform/database.ts';

/** Every role, the one that may do most first. */
export const roles = ['owner', 'admin', 'operator', 'viewer'] as const satisfies readonly Role[];

const managed: Readonly<Record<Role, readonly Role[]>> = {
  owner: roles,
  admin: ['admin', 'operator', 'viewer'],
  operator: [],
  viewer: [],
};

/** The roles that somebody with this role may give to others, and take from them. */
export function managedRoles(acting: Role): readonly Role[] {
  return managed[acting];
}

/** True when somebody with this role may do what takes at least the other one: each may do what those after it may. */
export function mayAct(role: Role, required: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(required);
}
