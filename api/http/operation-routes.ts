import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requirePersonBehind } from '#shared/access/personal-scopes.ts';
import type { ApiKeyScope } from '#shared/organizations/api-keys.ts';
import type { ApiKey, Database } from '#shared/platform/database.ts';
import { type ErrorCode, ServiceError } from '#shared/platform/errors.ts';
import type { GivenKey } from '#shared/refunds/requests/key-requests.ts';
import { idempotencyKeyPattern } from '../operations/fields.ts';
import type { Call, Operation } from '../operations/operation.ts';
import { admit, openPlaces, startWaiting } from './admission.ts';
import { csvBody, ignoredBody, optionalJsonBody } from './body.ts';
import { type Api, jsonResponse, responsesOf } from './route.ts';

/** A route for each operation. */
export async function operationRoutes(app: Api, operations: readonly Operation[]): Promise<void> {
  app.addHook('preValidation', ({ query }, _reply, done) => {
    renameLists(query as Record<string, unknown>);
    done();
  });
  for (const one of operations) {
    const add = async (scope: Api) => addRoute(scope, one);
    // For a plugin without it, Fastify looks through all modules that are loaded.
    await app.register(Object.assign(add, { [Symbol.for('fastify.display-name')]: one.id }));
  }
}

/** Some programs write the name of a parameter that they repeat with brackets: `include[]=a`. */
function renameLists(query: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(query)) {
    if (!name.endsWith('[]')) continue;
    const plain = name.slice(0, -'[]'.length);
    query[plain] = plain in query ? [query[plain], value].flat() : value;
    delete query[name];
  }
}

/** @param app for this route alone, because the scope and the parsers of bodies apply to all its routes. */
function addRoute(app: Api, operation: Operation): void {
  const { id, method, path, tag, params, query, summary, description, bodyLimitBytes, readCsv, csv } =
    operation;
  const body = typeof operation.body === 'function' ? operation.body(app.deps) : operation.body;
  const headers = headersOf(operation);
  const scopes = scopesOf(operation);
  for (const scope of scopes) checkScope(app, scope);
  if (body === undefined && method !== 'GET') ignoredBody(app);
  if (body?.isOptional()) optionalJsonBody(app);
  if (readCsv !== undefined) csvBody(app, readCsv);
  if (bodyLimitBytes !== undefined || csv !== undefined) admitFew(app, bodyLimitBytes !== undefined);
  app.route({
    method,
    url: path,
    ...(bodyLimitBytes === undefined ? {} : { bodyLimit: bodyLimitBytes }),
    schema: {
      ...{ operationId: id, summary, description, tags: [tag], security: [{ apiKey: scopes }] },
      // A part that is present but undefined would get a warning.
      ...(headers && { headers }),
      ...(params && { params }),
      ...(body && { body }),
      ...(readCsv && { consumes: ['application/json', 'text/csv'] }),
      querystring: onlyDeclared(query),
      response: { 200: responseOf(operation), ...responsesOf(errorsOf(operation)) },
    },
    async handler(request, reply) {
      const confirmKey = async () => {
        if (!(await request.rereadKey())) return;
        for (const scope of scopes) await requireScope(app.deps.db, request.apiKey, scope);
      };
      // The body may have taken long to arrive.
      await confirmKey();
      const wantsCsv = acceptsCsv(request);
      const call = callOf(operation, request, reply);
      if (csv !== undefined && wantsCsv) {
        reply.type('text/csv; charset=utf-8');
        return await csv(app.deps, call);
      }
      const answer = await operation.run(app.deps, call);
      // A client that waited must not learn what happened after its key was revoked.
      if (method === 'GET') await confirmKey();
      return operation.hasData ? answer : { data: answer };
    },
  });
}

/** How many large requests of an operation are under way at once, because each takes much memory. */
const mostLarge = 4;

function admitFew(app: Api, isLarge: boolean): void {
  const large = openPlaces(mostLarge);
  admit(app, (request) =>
    isLarge || acceptsCsv(request) ? { places: large, owner: request.apiKey.organizationId } : null,
  );
}

function acceptsCsv({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return /^text\/csv\b/.test(headers.accept ?? '');
}

/** Every scope that a key needs for an operation. */
export function scopesOf({ scope, alsoNeeds }: Operation): ApiKeyScope[] {
  return alsoNeeds === undefined ? [scope] : [scope, alsoNeeds];
}

/** Requires a scope on every route of this instance. */
function checkScope(app: Api, scope: ApiKeyScope): void {
  app.addHook('onRoute', (route) => {
    const check = ({ apiKey }: { apiKey: ApiKey }) => requireScope(app.deps.db, apiKey, scope);
    // A hook of the route runs after the rate limit, which is one as well.
    route.onRequest = [route.onRequest ?? [], check].flat();
  });
}

/**
 * @throws ServiceError insufficient_scope for a key that is stopped or lacks the scope, and when the person behind it may no longer do
 * what the scope allows.
 */
export async function requireScope(db: Database, key: ApiKey, required: ApiKeyScope): Promise<void> {
  if (key.stoppedAt !== null) {
    throw new ServiceError(
      'insufficient_scope',
      'This API key is stopped. An operator can resume it on the command line; an agent key can also be resumed in the dashboard or through the API.',
    );
  }
  const { id, organizationId, scopes } = key;
  if (scopes.includes(required))
    return await requirePersonBehind(db, { organizationId, actor: `key:${id}` }, required);
  throw new ServiceError(
    'insufficient_scope',
    `This requires the scope ${required}, which this API key does not have. Use another key.`,
  );
}

/** For the OpenAPI document. The functions below read the values, so that no header can cause a 500. */
const headersSchema = z.object({
  'idempotency-key': z
    .string()
    .optional()
    .meta({
      description:
        '1 to 255 visible ASCII characters. The same key with the same request is carried out once; ' +
        'a repeated creation returns its refund as it is now.',
      pattern: idempotencyKeyPattern.source,
    }),
  prefer: z
    .string()
    .optional()
    .describe('`wait=N` waits up to N seconds for the outcome, `respond-async` does not wait (RFC 7240).'),
});

function headersOf({ isIdempotent, defaultWaitMs }: Operation): z.ZodType | undefined {
  if (isIdempotent) return headersSchema;
  return defaultWaitMs && headersSchema.pick({ prefer: true });
}

/** Refuses parameters that are not declared: with a filter that is ignored, a client would get other results than it expects. */
function onlyDeclared(query: z.ZodType = z.object({})): z.ZodType {
  // Any other schema has to be strict itself.
  return query instanceof z.ZodObject ? query.strict() : query;
}

function responseOf({ output, answer, examples = {}, hasData, csv }: Operation) {
  const schema = hasData ? output : z.object({ data: output });
  const named = Object.entries(examples).map(([name, data]) => [name, { value: hasData ? data : { data } }]);
  const response = jsonResponse(answer, schema, named.length === 0 ? undefined : Object.fromEntries(named));
  if (csv === undefined) return response;
  return { ...response, content: { ...response.content, 'text/csv': { schema: z.string() } } };
}

/** Its own errors, then those that it may send because of what it takes, then those of every operation. */
function errorsOf({ method, isIdempotent, params, body, errors = [] }: Operation): ErrorCode[] {
  const codes: ErrorCode[] = [...errors];
  if (params !== undefined) codes.push('not_found');
  if (method !== 'GET') codes.push('payload_too_large');
  if (body !== undefined) codes.push('unsupported_media_type');
  if (isIdempotent) codes.push('idempotency_key_reused');
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

function callOf(operation: Operation, request: FastifyRequest, reply: FastifyReply): Call {
  const { apiKey, params, query, body } = request;
  return {
    ...{ apiKey, actor: `key:${apiKey.id}`, source: 'api', params, query, body },
    idempotency: operation.isIdempotent ? readIdempotencyKey(request) : null,
    waitMs: startWaitingFor(operation, request, reply),
    report({ answer, isReplayed, recordedAs, created = null }) {
      request.created = created;
      if (isReplayed) reply.header('idempotent-replayed', 'true');
      if (recordedAs !== undefined) reply.header('location', `/v1/refunds/${recordedAs}`);
      if (answer instanceof ServiceError) throw answer;
      return answer;
    },
  };
}

/**
 * How long a request waits: as it prefers, or 0 when it finds no place among those that wait. Call it last: it drops what the request
 * consists of.
 */
function startWaitingFor(operation: Operation, request: FastifyRequest, reply: FastifyReply): number {
  const { settings } = request.server.deps;
  const preference =
    operation.defaultWaitMs === undefined
      ? { waitMs: 0, applied: null }
      : readWaitPreference(request.headers.prefer, operation.defaultWaitMs(settings), settings.MAX_WAIT_MS);
  const waitMs = admittedWaitMs(operation, request, preference.waitMs);
  const isApplied = preference.applied !== null && waitMs === preference.waitMs;
  if (isApplied) reply.header('preference-applied', preference.applied);
  return waitMs;
}

/** @returns the given time, or 0 when the request would have to wait, for an outcome or a processor, and finds no place for that. */
export function admittedWaitMs(
  { asksProcessor }: Operation,
  request: FastifyRequest,
  preferredMs: number,
): number {
  const waits = asksProcessor === true || preferredMs > 0;
  return waits && startWaiting(request) ? preferredMs : 0;
}

/**
 * The Idempotency-Key of a request; null without one.
 * @throws ServiceError validation_error for an invalid one.
 */
function readIdempotencyKey({ headers }: FastifyRequest): GivenKey | null {
  const header = headers['idempotency-key'];
  if (header === undefined && headers['x-idempotency-key'] === undefined) return null;
  if (typeof header === 'string' && idempotencyKeyPattern.test(header)) return { key: header };
  throw new ServiceError(
    'validation_error',
    header === undefined
      ? 'X-Idempotency-Key: is not read. Send the key as Idempotency-Key; without it, a retry creates another refund.'
      : 'Idempotency-Key: use 1 to 255 visible ASCII characters.',
  );
}

/**
 * Reads `Prefer: respond-async` and `Prefer: wait=N` (seconds). Anything else is ignored, as RFC 7240 requires;
 * respond-async takes precedence over wait.
 * @param defaultMs the wait without a preference.
 * @param maxMs the upper limit of any wait.
 * @returns `applied`: the value of the Preference-Applied response header; null when the client stated no preference.
 */
function readWaitPreference(
  header: string | string[] | undefined,
  defaultMs: number,
  maxMs: number,
): { waitMs: number; applied: string | null } {
  if (header === undefined) return { waitMs: Math.min(defaultMs, maxMs), applied: null };
  const preferences = [header]
    .flat()
    .flatMap((line) => line.split(','))
    .map((preference) => preference.trim().toLowerCase());
  if (preferences.includes('respond-async')) return { waitMs: 0, applied: 'respond-async' };
  const seconds = preferences
    .map((preference) => /^wait *= *"?(\d{1,6})"?$/.exec(preference)?.[1])
    .find(Boolean);
  if (seconds === undefined) return { waitMs: Math.min(defaultMs, maxMs), applied: null };
  const waitMs = Math.min(Number(seconds) * 1000, maxMs);
  return { waitMs, applied: `wait=${Math.floor(waitMs / 1000)}` };
}
