import type { FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';

/** The most fields that a message names. */
const mostFields = 10;
const longestName = 40;

/** The parts of a request in the order in which they are validated. Validation stops at the first invalid one. */
const parts = ['params', 'body', 'querystring', 'headers'] as const;

type Part = (typeof parts)[number];

type Values = Partial<Record<Part, unknown>>;

/**
 * Every invalid field of a request: `field: problem`, separated by semicolons. The fields of the body come first, then the
 * query parameters, each in the order of the schema; unknown ones are last.
 * @param context the first invalid part of the request, as the framework names it.
 */
export function describeInvalidRequest(request: FastifyRequest, context: string | undefined): string {
  const { params, body, query, headers } = request;
  const first = Math.max(0, parts.indexOf(context as Part));
  // The parts before it are valid, and some are no longer as they were sent.
  const unread = { params, body, querystring: query, headers };
  const values = Object.fromEntries(parts.slice(first).map((part) => [part, unread[part]]));
  return describeInvalidFields(request.routeOptions.schema ?? {}, values);
}

/** The same for values of some parts; empty when they are valid. */
export function describeInvalidFields(schemas: FastifySchema, values: Values): string {
  const problems = new Map<string, string>();
  for (const part of parts) {
    if (!(part in values)) continue;
    for (const [field, problem] of problemsOf(part, schemas[part], values[part])) {
      if (!problems.has(field)) problems.set(field, problem);
    }
  }
  const lines = [...problems].map(([field, problem]) => `${field}: ${problem}`);
  const more = lines.length - mostFields;
  return [...lines.slice(0, mostFields), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function problemsOf(part: Part, schema: unknown, value: unknown): [field: string, problem: string][] {
  const issues = schema instanceof z.ZodType ? (schema.safeParse(value).error?.issues ?? []) : [];
  return issues.flatMap(({ path, message, ...issue }) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key): [string, string] => [fieldName(part, [...path, key]), unknownIn(part)])
      : [[fieldName(part, path), message] as [string, string]],
  );
}

function unknownIn(part: Part): string {
  return part === 'querystring' ? 'unknown parameter' : 'unknown field';
}

/** The field as the caller wrote it; the part itself when it is invalid as a whole. */
function fieldName(part: Part, path: readonly PropertyKey[]): string {
  const [first, ...inner] = path.map(String);
  if (first === undefined) return part === 'querystring' ? 'query' : part;
  const steps = inner.map((step) => (part === 'querystring' ? `[${step}]` : `.${step}`));
  const name = [first, ...steps].join('').slice(0, longestName);
  return /^[\x21-\x7e]+$/.test(name) ? name : JSON.stringify(name);
}
