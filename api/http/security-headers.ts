import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

/** The security headers of responses in JSON: a browser that opens one must neither render nor guess nor keep anything. */
export const jsonHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** The security headers of responses in JSON. Call it before the checks, so that refusals have them as well. */
export function jsonSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(jsonHeaders);
    done();
  });
}

/** The security headers of pages. Call it before the checks, so that refusals have them as well. */
export async function pageSecurityHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      directives: {
        'upgrade-insecure-requests': null,
        'font-src': ["'self'", 'data:'],
        'style-src': ["'self'", "'unsafe-inline'"],
      },
    },
  });
}
