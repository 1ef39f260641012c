import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ApiKeyScope } from '../../shared/organizations/api-keys.ts';
import type { ApiKey } from '../../shared/platform/database.ts';
import type { ErrorCode } from '../../shared/platform/errors.ts';
import { ignoredBody, optionalJsonBody } from './body.ts';
import type { ApiDependencies } from './dependencies.ts';
import { onlyDeclared } from './query-parameters.ts';
import {
  idempotentHeadersSchema,
  readIdempotencyKey,
  readWaitPreference,
  type waitingHeadersSchema,
} from './request-headers.ts';
import { type Api, type JsonResponse, responsesOf, routePlugin } from './route.ts';
import { checkScope } from './scopes.ts';

/** An operation of the public API. Its route and its entry in the OpenAPI document follow from this. */
export interface Operation<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> {
  id: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** The scope that a key needs. */
  scope: ApiKeyScope;
  tag: 'Refunds' | 'Events' | 'Policies' | 'Agent keys' | 'Webhooks';
  summary: string;
  description: string;
  /** Which of the headers that change what a request does are read. */
  headers?: typeof idempotentHeadersSchema | typeof waitingHeadersSchema;
  params?: Params;
  /** Other parameters are refused. */
  query?: Query;
  /** Without a schema a body is ignored. A body that its schema lets be undefined may be left out. */
  body?: Body | ((deps: ApiDependencies) => Body);
  response: JsonResponse<Answer>;
  /** Besides those that follow from the rest of the definition. */
  errors?: readonly ErrorCode[];
  /** @throws ServiceError for what is refused. */
  run(
    deps: ApiDependencies,
    call: Call<z.output<Params>, z.output<Query>, z.output<Body>>,
  ): Promise<z.output<Answer>>;
}

/** A valid request for an operation. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  apiKey: ApiKey;
  /** The key as events and the audit log name it. */
  actor: string;
  params: Params;
  query: Query;
  body: Body;
  /** @throws ServiceError validation_error for an invalid one. */
  idempotencyKey(): string | null;
  /** How long the caller waits: as `Prefer` says, which the response then confirms, or as long as is given. */
  waitMs(defaultMs: number): number;
  /** Sets a header of the response, which an error also has. */
  setHeader(name: 'idempotent-replayed' | 'location', value: string): void;
}

/** Checks an operation's types, which a list of operations does not keep. */
export function operation<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
>(definition: Operation<Params, Query, Body, Answer>): Operation {
  return definition as Operation;
}

/** A route for each operation. */
export const operationRoutes = routePlugin<{ operations: readonly Operation[] }>(
  { name: 'operations', dependencies: ['authenticate', 'limit-keys'] },
  async (app, { operations }) => {
    for (const one of operations) await app.register(async (scope: Api) => await addRoute(scope, one));
  },
);

/** @param app for this route alone, because the scope and the parsers of bodies apply to all its routes. */
async function addRoute(app: Api, operation: Operation): Promise<void> {
  const { id, method, path, scope, tag, params, query, headers, summary, description } = operation;
  const body = typeof operation.body === 'function' ? operation.body(app.deps) : operation.body;
  checkScope(app, scope);
  if (body === undefined && method !== 'GET') await app.register(ignoredBody);
  if (body?.isOptional()) await app.register(optionalJsonBody);
  app.route({
    method,
    url: path,
    schema: {
      ...{ operationId: id, summary, description, tags: [tag], security: [{ apiKey: [scope] }] },
      // A part that is present but undefined would get a warning.
      ...(headers && { headers }),
      ...(params && { params }),
      ...(body && { body }),
      querystring: onlyDeclared(query),
      response: { 200: operation.response, ...responsesOf(errorsOf(operation)) },
    },
    handler: async (request, reply) => await operation.run(request.deps, callOf(request, reply)),
  });
}

function callOf(request: FastifyRequest, reply: FastifyReply): Call {
  const { apiKey, params, query, body } = request;
  return {
    ...{ apiKey, actor: `key:${apiKey.id}`, params, query, body },
    idempotencyKey: () => readIdempotencyKey(request),
    waitMs(defaultMs) {
      const { MAX_WAIT_MS } = request.deps.settings;
      const { waitMs, applied } = readWaitPreference(request.headers.prefer, defaultMs, MAX_WAIT_MS);
      if (applied !== null) reply.header('preference-applied', applied);
      return waitMs;
    },
    setHeader: (name, value) => reply.header(name, value),
  };
}

/** Its own errors, then those that it may send because of what it takes, then those of every operation. */
function errorsOf({ method, headers, params, body, errors = [] }: Operation): ErrorCode[] {
  const codes: ErrorCode[] = [...errors];
  if (params !== undefined) codes.push('not_found');
  if (method !== 'GET') codes.push('payload_too_large');
  if (body !== undefined) codes.push('unsupported_media_type');
  if (headers === idempotentHeadersSchema) codes.push('idempotency_key_reused');
  return [...codes, ...always];
}

const always: readonly ErrorCode[] = [
  'validation_error',
  'invalid_api_key',
  'insufficient_scope',
  'rate_limited',
  'internal_error',
  'service_unavailable',
];
