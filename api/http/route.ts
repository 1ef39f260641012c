import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault, RouteOptions } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { type ErrorCode, errorCatalogue } from '#shared/platform/errors.ts';
import { errorCodes } from '../operations/fields.ts';

/** A Fastify instance whose routes have zod schemas. */
export type Api = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What the OpenAPI document is made from. */
export type DescribedRoute = Pick<RouteOptions, 'method' | 'url' | 'schema'>;

/** Adds the routes registered on `app` from here on, except hidden ones. */
export function collectDescribedRoutes(app: Api, routes: DescribedRoute[]): void {
  app.addHook('onRoute', ({ method, url, schema = {} }) => {
    // Fastify adds HEAD to every GET, here and in the application that generates the document.
    if (method !== 'HEAD' && schema.hide !== true) routes.push({ method, url, schema });
  });
}

/** One response of a route in the OpenAPI document. */
export interface JsonResponse<Schema extends z.ZodType> {
  description: string;
  content: { 'application/json': { schema: Schema; examples?: Record<string, { value: unknown }> } };
}

/** @param examples by name; made from those of the schema by default. */
export function jsonResponse<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  examples?: Record<string, { value: z.output<Schema> }>,
): JsonResponse<Schema> {
  const content = { schema, ...(examples === undefined ? {} : { examples }) };
  return { description, content: { 'application/json': content } };
}

/** An error response as an example, with the message of the catalogue or a given one. */
export function errorExample(code: ErrorCode, message: string = errorCatalogue[code].example) {
  return { error: { message, code } };
}

const tableOfCodes = [
  '| Status | Code | Meaning |',
  '|---|---|---|',
  ...errorCodes.map((code) => {
    const { status, meaning } = errorCatalogue[code];
    return `| ${status} | \`${code}\` | ${meaning} |`;
  }),
].join('\n');

/** The body of every error response. */
export const errorSchema = z
  .object({
    error: z.object({
      message: z.string().describe('For people: what is wrong and what to do.'),
      code: z.enum(errorCodes).describe('For programs.'),
    }),
  })
  .meta({
    id: 'Error',
    description: `The body of every error response.\n\n${tableOfCodes}`,
    examples: [errorExample('not_found')],
  });

/** The error responses with these codes. */
export function responsesOf(codes: readonly ErrorCode[]): Record<number, JsonResponse<typeof errorSchema>> {
  const statuses = new Set(codes.map((code) => errorCatalogue[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => [
      status,
      errorResponse(codes.filter((code) => errorCatalogue[code].status === status)),
    ]),
  );
}

function errorResponse(codes: readonly ErrorCode[]): JsonResponse<typeof errorSchema> {
  const description = codes.map((code) => `\`${code}\`: ${errorCatalogue[code].meaning}`).join('\n\n');
  const examples = Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }]));
  return { description, content: { 'application/json': { schema: errorSchema, examples } } };
}
