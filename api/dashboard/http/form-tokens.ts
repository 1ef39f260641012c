import csrf from '@fastify/csrf-protection';
import type { FastifyInstance } from 'fastify';
import { entered } from './forms.ts';

/** Lets the pages on this instance make tokens for their forms, each for its session; to be called where sessions are kept. */
export async function makeFormTokens(scope: FastifyInstance): Promise<void> {
  await scope.register(csrf, {
    sessionPlugin: '@fastify/session',
    getToken: ({ body, headers }) => {
      const header = headers['x-csrf-token'];
      return typeof header === 'string' ? header : entered(body, '_csrf');
    },
  });
}

/** Refuses what was not sent from a form of the session's own pages. */
export function requireCsrfToken(scope: FastifyInstance): void {
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') done();
    else scope.csrfProtection(request, reply, done);
  });
}

/** True for the refusal of a form that brought no token of its session. */
export function isCsrfRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_CSRF_');
}
