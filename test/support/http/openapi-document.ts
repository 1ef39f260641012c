import assert from 'node:assert/strict';
import { z } from 'zod';
import type { ParsedJson } from '../parsed-json.ts';
import type { ApiAnswer, TestService } from '../service.ts';

/** One operation of the document, with the path and method that lead to it. */
export interface Operation {
  method: string;
  path: string;
  operation: ParsedJson;
}

/** The OpenAPI document as the service serves it. */
export interface ServedDocument {
  document: ParsedJson;
  operations: Operation[];
  /** A JSON schema of the document as something that checks values, and refuses what the document leaves open for later versions. */
  schemaOf(schema: unknown): z.ZodType;
  /** A schema with what it refers to in place. */
  resolve(schema: unknown): unknown;
}

/** @throws Error when the document is not served. */
export async function readDocument(service: Pick<TestService, 'app'>): Promise<ServedDocument> {
  const response = await service.app.inject('/openapi.json');
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`);
  const document = response.json();
  const operations = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const resolve = (schema: unknown) => withoutReferences(document, schema);
  const schemas = new Map<unknown, z.ZodType>();
  const schemaOf = (schema: unknown) => {
    const made = schemas.get(schema) ?? z.fromJSONSchema(closed(resolve(schema)) as JsonSchema);
    schemas.set(schema, made);
    return made;
  };
  return { document, operations, schemaOf, resolve };
}

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];

/** The operation that a request asks for. @param path with `:name` or values. */
export function operationAt(
  { operations }: ServedDocument,
  { method, path }: { method: string; path: string },
): Operation | undefined {
  const pattern = (declared: string) => new RegExp(`^${declared.replace(/\{\w+\}/g, '[^/]+')}/?$`);
  return operations.find(
    (one) => one.method === method.toLowerCase() && pattern(one.path).test(path.split('?')[0] ?? ''),
  );
}

/**
 * Holds an answer against what the document declares for its operation, body and headers.
 * @throws AssertionError where they differ.
 */
export function expectDeclared(
  served: ServedDocument,
  request: { method: string; path: string },
  { status, body, headers }: ApiAnswer,
): void {
  const where = `${request.method} ${request.path} ${status} ${JSON.stringify(body)}`;
  const declared = operationAt(served, request)?.operation.responses[status];
  assert(declared !== undefined, `Not declared: ${where}`);
  const read = served.schemaOf(declared.content['application/json'].schema).safeParse(body);
  assert.deepEqual(read.data, body, `${where}: ${read.error}`);
  if (status >= 400)
    assert(declared.description.includes(`\`${body.error.code}\``), `Another code: ${where}`);
  const sent = [
    'X-Request-Id',
    'Refund-Version',
    'Retry-After',
    'WWW-Authenticate',
    'Location',
    'Idempotent-Replayed',
  ];
  for (const name of status === 200 ? [...sent, 'Preference-Applied'] : sent)
    assert(!(name.toLowerCase() in headers) || name in declared.headers, `${name} is sent: ${where}`);
}

/** Without the alternatives beside known values, and without further fields. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) {
    const isOpen = part.some((one) => one?.enum !== undefined);
    const isAny = (one: object) =>
      Object.keys(one).join() === 'type' && 'type' in one && one.type === 'string';
    return part.filter((one) => !isOpen || !isAny(one)).map(closed);
  }
  if (typeof part !== 'object' || part === null) return part;
  const entries = Object.entries(part).map(([key, child]) => [key, closed(child)]);
  const isObject = 'properties' in part && 'type' in part && part.type === 'object';
  return Object.fromEntries(isObject ? [['additionalProperties', false], ...entries] : entries);
}

function withoutReferences(document: unknown, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((item) => withoutReferences(document, item));
  if (typeof part !== 'object' || part === null) return part;
  if ('$ref' in part) return withoutReferences(document, lookUp(document, String(part.$ref)));
  return Object.fromEntries(
    Object.entries(part).map(([key, child]) => [key, withoutReferences(document, child)]),
  );
}

function lookUp(document: unknown, reference: string): unknown {
  const [, ...steps] = reference.split('/');
  const found = steps.reduce((part, step) => (part as Record<string, unknown>)?.[step], document);
  if (found === undefined) throw new Error(`${reference} leads nowhere`);
  return found;
}
