import type { FastifyRequest } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';
import { admittedWaitMs } from '../http/operation-routes.ts';
import type { Api } from '../http/route.ts';
import type { Operation } from '../operations/operation.ts';
import { acceptedTypes, inAcceptedType, withBothTypes } from './accepted-types.ts';

/**
 * `POST /mcp`: the tools for agents, by the Model Context Protocol over Streamable HTTP. Each tool checks the scopes of the
 * key itself. A web page of another site is refused by its Origin header, as the protocol requires. The Host header is not checked: every
 * request needs an API key, so DNS rebinding gives a web page no access.
 */
export function mcpRoute(app: Api): void {
  const { deps } = app;
  app.post('/mcp', { schema: { hide: true } }, async (request, reply) => {
    checkOrigin(request);
    // The body may have taken long to arrive.
    await request.rereadKey();
    const { apiKey: key, body, log } = request;
    // The limits of a key count requests, so a request is one call.
    if (Array.isArray(body)) {
      throw new ServiceError(
        'validation_error',
        'body: must be one JSON-RPC message. Send a request for each.',
      );
    }
    // Loaded with the first request, so that the API listens without it.
    const { answerMcp } = await import('./answer.ts');
    const given = new Headers(request.headers as Record<string, string>);
    const types = acceptedTypes(request.headers.accept);
    const headers = types === null ? given : withBothTypes(given);
    const onCreated = (created: NonNullable<typeof request.created>) => {
      request.created = created;
    };
    const waitMsOf = (operation: Operation) =>
      admittedWaitMs(operation, request, operation.defaultWaitMs?.(deps.settings) ?? 0);
    const answered = await answerMcp(deps, { key, log, onCreated, waitMsOf }, { headers, body });
    const answer = types === null ? answered : await inAcceptedType(answered, types);
    return reply
      .code(answer.status)
      .headers(Object.fromEntries(answer.headers))
      .send(await answer.text());
  });
}

/** @throws ServiceError insufficient_scope for a request that a browser sends for a page of another site. */
function checkOrigin({ headers: { origin }, host }: Pick<FastifyRequest, 'headers' | 'host'>): void {
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return;
  throw new ServiceError(
    'insufficient_scope',
    'Web pages of other sites may not call the tools. Connect from a program, or without the Origin header.',
  );
}
