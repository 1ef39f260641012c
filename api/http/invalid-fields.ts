import type { FastifyRequest } from 'fastify';
import { z } from 'zod';

/** The most fields that a message names. */
const mostFields = 10;
const longestName = 40;

/** The parts of a request in the order in which they are validated. Validation stops at the first invalid one. */
const parts = ['params', 'body', 'querystring', 'headers'] as const;

type Part = (typeof parts)[number];

/**
 * Every invalid field of a request: `field: problem`, separated by semicolons. The fields of the body come first, then the
 * query parameters, each in the order of the schema; unknown ones are last.
 * @param context the first invalid part of the request, as the framework names it.
 */
export function describeInvalidFields(request: FastifyRequest, context: string | undefined): string {
  const { schema = {} } = request.routeOptions;
  const first = Math.max(0, parts.indexOf(context as Part));
  const problems = new Map<string, string>();
  for (const part of parts.slice(first)) {
    const value = part === 'querystring' ? request.query : request[part];
    for (const [field, problem] of problemsOf(part, schema[part], value)) {
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
