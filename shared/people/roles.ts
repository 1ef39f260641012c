import type { Role } from '../db.ts';

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
