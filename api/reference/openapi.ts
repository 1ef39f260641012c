import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { apiKeyScopes } from '#shared/organizations/api-keys.ts';
import { newestApiVersion } from '#shared/platform/api-versions.ts';
import { type ErrorCode, errorCatalogue } from '#shared/platform/errors.ts';
import { version } from '#shared/platform/version.ts';
import { describeInvalidFields } from '../http/invalid-fields.ts';
import { type DescribedRoute, errorExample, type JsonResponse } from '../http/route.ts';
import { withDefaults } from '../operations/fields.ts';
import { type NamedExamples, namedExamples } from './examples.ts';
import { introduction } from './introduction.ts';
import { type JsonSchema, openOutput } from './open-outputs.ts';
import { referencePage } from './page.ts';
import { typescriptSamples } from './samples.ts';
import { describeWebhooks } from './webhooks.ts';

/** The parts of an OpenAPI document that are changed here. */
interface OpenApiDocument {
  info: object;
  paths?: Record<string, Record<string, Operation>>;
  webhooks?: Record<string, unknown>;
  components?: { schemas?: Record<string, JsonSchema>; headers?: typeof headers };
}

interface Operation {
  security?: unknown[];
  parameters?: { name: string; in: string; schema?: { style?: string; explode?: boolean } & object }[];
  requestBody?: {
    required: boolean;
    content: Record<string, { schema: { type?: string; anyOf?: { type?: string }[] } }>;
  };
  responses?: Record<
    string,
    { headers?: Record<string, { $ref: string }>; content?: Record<string, { schema: JsonSchema }> }
  >;
}

/** Serves `/openapi.json` and `/docs`, made from the routes of the public API. */
export async function openApi(app: FastifyInstance, routes: readonly DescribedRoute[]): Promise<void> {
  // All responses share these bytes, so that it costs nothing that many clients do not read theirs.
  const described = await documentOf(routes);
  const document = Buffer.from(JSON.stringify(described));
  referencePage(app, described);
  app.get('/openapi.json', async (_request, reply) => reply.type('application/json').send(document));
}

/** The generator reads the routes of the application that it is registered on, so it gets one of its own. */
async function documentOf(routes: readonly DescribedRoute[]): Promise<OpenApiDocument> {
  const app = Fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Refund service',
        version,
        description: introduction,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'Refunds', description: 'Create, follow and cancel refunds.' },
        { name: 'Refund batches', description: 'Create up to 10,000 refunds with one request.' },
        { name: 'Payments', description: 'See what a payment is and what is left to refund.' },
        { name: 'Accounts', description: 'See which accounts at processors refunds can be requested of.' },
        { name: 'Events', description: 'Follow what happens to all refunds, in order.' },
        {
          name: 'Webhooks',
          description:
            'Have events sent to your server. What is sent is described under the names of the events.',
        },
        { name: 'Policies', description: 'Check whether a payment can be refunded.' },
        { name: 'Agent keys', description: 'Give agents keys of their own, with limits.' },
        { name: 'Health', description: 'For load balancers and operators.' },
      ],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            description:
              '`svc_live_...` moves money, `svc_test_...` never does. A key has scopes; each operation names those that it ' +
              `needs: ${apiKeyScopes.map((scope) => `\`${scope}\``).join(', ')}.`,
          },
        },
      },
    },
    transform: transformWithExamples,
    transformObject: (document) =>
      finishDocument(jsonSchemaTransformObject(document) as OpenApiDocument) as never,
  });
  for (const route of routes) app.route({ ...route, handler: () => undefined });
  await app.ready();
  return JSON.parse(withDefaults(JSON.stringify(app.swagger())), withoutFormatPattern);
}

/** Removes patterns beside formats: quicktype rejects a pattern of a date, and the format says as much. */
function withoutFormatPattern(_key: string, part: { format?: unknown; pattern?: string } | null): unknown {
  if (typeof part?.format === 'string') delete part.pattern;
  return part;
}

type Responses = Record<string, Partial<JsonResponse<z.ZodType>>>;

/** The generator drops the examples of responses, and has no samples. */
const transformWithExamples: typeof jsonSchemaTransform = (input) => {
  const transformed = jsonSchemaTransform(input);
  const described = (input.schema?.response ?? {}) as Responses;
  for (const [status, response] of Object.entries((transformed.schema.response ?? {}) as Responses)) {
    const content = described[status]?.content?.['application/json'];
    if (!response.content || !content) continue;
    const { schema, examples = namedExamples(schema) } = content;
    response.content['application/json'].examples = withOwnMessages(examples, input);
  }
  return { ...transformed, schema: { ...transformed.schema, ...samplesOf(input) } };
};

function samplesOf({ schema, url }: { schema?: FastifySchema; url: string }): object {
  const { operationId, body } = schema ?? {};
  if (operationId === undefined || !url.startsWith('/v1/')) return {};
  return { 'x-codeSamples': typescriptSamples(url, operationId, body as z.ZodType | undefined) };
}

/** The examples of errors whose messages depend on the route, with the messages of this route. */
function withOwnMessages(
  examples: NamedExamples,
  { schema = {}, url }: { schema?: FastifySchema; url: string },
): NamedExamples {
  const messages: Partial<Record<ErrorCode, string>> = {
    validation_error: exampleOfInvalid(schema),
    insufficient_scope: errorCatalogue.insufficient_scope.example.replace('refunds:write', scopesOf(schema)),
    not_found: `${resourceAt(url)} not found.`,
  };
  return Object.fromEntries(
    Object.entries(examples).map(([code, example]) => {
      const message = messages[code as ErrorCode];
      return [code, message === undefined ? example : { value: errorExample(code as ErrorCode, message) }];
    }),
  );
}

const resources = {
  '/v1/refund-batches': 'Refund batch',
  '/v1/agent-keys': 'API key',
  '/v1/webhook-endpoints': 'Webhook endpoint',
};

function resourceAt(url: string): string {
  return Object.entries(resources).find(([prefix]) => url.startsWith(prefix))?.[1] ?? 'Refund';
}

function scopesOf({ security }: FastifySchema): string {
  return security?.[0]?.apiKey?.join(' and ') ?? '';
}

/** What the route answers to an empty body, else to a query that no route accepts. */
function exampleOfInvalid(schemas: FastifySchema): string {
  const inBody = schemas.body === undefined ? '' : describeInvalidFields(schemas, { body: {} });
  return (
    inBody ||
    describeInvalidFields(schemas, { querystring: { limit: '0' } }) ||
    'host: HTTP/1.1 requires this header.'
  );
}

const headers = {
  'X-Request-Id': {
    description: 'Identifies this request, also in the logs of the service.',
    schema: { type: 'string' },
    example: 'req_01kahw3v6me8fbw6r5k2jdz7qs',
  },
  'Refund-Version': {
    description:
      'The version of the API in which the request was answered: that of the request header of this name, or else that of the API key.',
    schema: { type: 'string' },
    example: newestApiVersion,
  },
  'Idempotent-Replayed': {
    description:
      '`true` when this response repeats that of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string' },
    example: 'true',
  },
  'Preference-Applied': {
    description: 'The preference of the Prefer header that was applied (RFC 7240).',
    schema: { type: 'string' },
    example: 'wait=10',
  },
  Location: {
    description: 'The address of the refund that is on record.',
    schema: { type: 'string' },
    example: '/v1/refunds/ref_01kahw3v6me8fbw6r5k2jdz7qs',
  },
  'Retry-After': {
    description: 'Seconds to wait before the request is repeated.',
    schema: { type: 'integer' },
    example: 1,
  },
  'WWW-Authenticate': {
    description: 'The scheme to authenticate with.',
    schema: { type: 'string' },
    example: 'Bearer',
  },
};

/** Adds what the generator leaves out. Changes the document that it is given. */
function finishDocument(document: OpenApiDocument): OpenApiDocument {
  const operations = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path));
  for (const operation of operations) finishOperation(operation);
  document.webhooks = describeWebhooks();
  document.components = { ...document.components, headers };
  dropUnusedSchemas(document);
  // The schemas of requests have no names, so these are all of responses and events.
  for (const schema of Object.values(document.components.schemas ?? {})) openOutput(schema);
  return document;
}

function finishOperation({ parameters = [], requestBody, responses = {}, security = [] }: Operation): void {
  // The generator requires every body that has a schema.
  const alternatives = requestBody?.content['application/json']?.schema.anyOf ?? [];
  if (requestBody !== undefined && alternatives.some(({ type }) => type === 'null'))
    requestBody.required = false;
  // The generator describes every media type with one object, which has the schema of the body.
  if (requestBody?.content['text/csv'] !== undefined) {
    requestBody.content['text/csv'] = { schema: { type: 'string' } };
  }
  for (const parameter of parameters) {
    // The generator leaves these in the schema, where they mean nothing.
    const { style, explode, ...schema } = parameter.schema ?? {};
    if (style !== undefined) Object.assign(parameter, { style, explode, schema });
    if (parameter.in === 'header') {
      parameter.name = parameter.name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
    }
  }
  const takes = (name: string) => parameters.some((parameter) => parameter.name === name);
  for (const [status, response] of Object.entries(responses)) {
    for (const { schema } of Object.values(response.content ?? {})) openOutput(schema);
    const isIdempotent = takes('Idempotency-Key');
    // A creation, whose refund may be on record as failed.
    const isRecorded = isIdempotent && '502' in responses;
    const names = headersOf(status, { isIdempotent, isRecorded, waits: takes('Prefer') });
    if (security.length > 0) names.push('Refund-Version');
    response.headers = Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    );
  }
}

function headersOf(
  status: string,
  { isIdempotent, isRecorded, waits }: { isIdempotent: boolean; isRecorded: boolean; waits: boolean },
): (keyof typeof headers)[] {
  const names: (keyof typeof headers)[] = ['X-Request-Id'];
  const isRefusal = ['400', '409', '502'].includes(status);
  if (isIdempotent && (isRefusal || status === '200')) names.push('Idempotent-Replayed');
  if (waits && status === '200') names.push('Preference-Applied');
  if (isRecorded && isRefusal) names.push('Location');
  if (status === '401') names.push('WWW-Authenticate');
  if (status === '429' || status === '503') names.push('Retry-After');
  return names;
}

/** The generator writes every named schema once for input and once for output. */
function dropUnusedSchemas(document: OpenApiDocument): void {
  const schemas = document.components?.schemas ?? {};
  for (let removed = true; removed; ) {
    const text = JSON.stringify(document);
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
    for (const name of unused) delete schemas[name];
    removed = unused.length > 0;
  }
}
