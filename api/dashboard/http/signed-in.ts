import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '../../../shared/dependencies.ts';

/** Somebody who is signed in. */
export interface Visitor {
  user: { id: string; email: string };
  /** For the forms of the page. */
  csrfToken: string;
}

/** Who is signed in; null for everybody else. */
export async function signedIn(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Visitor | null> {
  const { userId } = request.session;
  const user = userId === undefined ? null : await findUser(deps, userId);
  return user === null ? null : { user, csrfToken: reply.generateCsrf() };
}

async function findUser({ db }: Dependencies, id: string): Promise<Visitor['user'] | null> {
  return await db.user.findUnique({ where: { id }, select: { id: true, email: true } });
}
