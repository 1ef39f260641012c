import type { FastifyRequest } from 'fastify';

/** The scheme and host under which the person reaches the service, and programs its API. */
export function originOf({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}`;
}
