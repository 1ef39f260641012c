import type { FastifyRequest } from 'fastify';
import { leastRoleInAll } from '../../../shared/people/find-members.ts';
import { mayAct } from '../../../shared/people/roles.ts';
import type { Database, Role } from '../../../shared/platform/database.ts';
import { visitorOf } from '../http/access.ts';
import type { BoardAccess } from './board-routes.ts';

/**
 * What somebody who is signed in may do on the board. It shows the jobs of all organizations of the installation, so it is
 * for those who belong to every one of them, and they may do there what they may do in each.
 */
export async function boardAccess(db: Database, request: FastifyRequest): Promise<BoardAccess> {
  return accessOf(await leastRoleInAll(db, visitorOf(request).user.id));
}

/** @param role the least that the person has in any organization; null for who is missing in one. */
export function accessOf(role: Role | null): BoardAccess {
  if (role === null) return 'none';
  return mayAct(role, 'operator') ? 'operate' : 'read';
}
