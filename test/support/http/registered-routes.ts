import { subscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { unknownRefundId } from '../refunds/refund-records.ts';

/** One route as the application registered it. */
export interface RegisteredRoute {
  method: string;
  /** With parameters by name: `/v1/refunds/:id`. */
  url: string;
  /** True for the route of a path that answers 405 to all methods without one. */
  isRefusal: boolean;
}

/**
 * Writes down every route of the applications that are built from here on in this process, those of plugins and those
 * that answer 405 included. Fastify itself announces an application before anything is registered on it.
 * @returns a list that grows as routes are registered.
 */
export function noteRegisteredRoutes(): readonly RegisteredRoute[] {
  const routes: RegisteredRoute[] = [];
  subscribe('fastify.initialization', (announced) => {
    const { fastify } = announced as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      const methods = [method].flat();
      // A route that does something has one or two.
      const isRefusal = methods.length > 2;
      routes.push(...methods.map((one) => ({ method: one, url, isRefusal })));
    });
  });
  return routes;
}

/** What the ids of dashboard pages begin with. */
const prefixes: Record<string, string> = {
  keyId: 'key',
  accountId: 'acc',
  userId: 'usr',
  endpointId: 'we',
  deliveryId: 'del',
  invitationId: 'inv',
};

/** The path of a route in the test environment of an organization, with ids that name nothing. */
export function filledPath(url: string, organizationId: string): string {
  const values: Record<string, string> = { organizationId, environment: 'test', processor: 'stripe' };
  const unknownId = (name: string) => unknownRefundId.replace('ref', prefixes[name] ?? 'ref');
  return url.replace(/:(\w+)/g, (_, name: string) => values[name] ?? unknownId(name));
}
