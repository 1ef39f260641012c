import fc from 'fast-check';
import type { Operation, ServedDocument } from '../http/openapi-document.ts';
import { hostileJson, hostileText, hostileValue, mutilated } from './hostile-values.ts';
import { arbitraryOf, type KnownValues } from './schema-arbitrary.ts';

/** A request as it goes over the wire: the target and the headers are what HTTP allows, and nothing else is certain. */
export interface StormRequest {
  method: string;
  target: string;
  headers: Record<string, string | string[]>;
  body: Buffer | null;
}

export interface StormSources {
  served: ServedDocument;
  /** The key that most requests carry, and others. */
  key: string;
  otherKeys: readonly string[];
  /** By name, for path parameters and fields of bodies. */
  known: KnownValues;
}

/** A body, and the headers that belong to it. */
export interface Content {
  headers: Record<string, string>;
  body: Buffer | null;
}

/** What requests to routes outside of the API have in place of an API key and JSON. */
export interface RequestParts {
  credentials: fc.Arbitrary<Record<string, string>>;
  content: fc.Arbitrary<Content>;
}

/** Requests to one operation: valid ones, nearly valid ones, and such that nobody would make in good faith. */
export function requestsTo(
  operation: Operation,
  sources: StormSources,
  parts: Partial<RequestParts> = {},
): fc.Arbitrary<StormRequest> {
  const { credentials = authorizationFor(sources), content = jsonContent(operation, sources) } = parts;
  return fc
    .record({
      method: mostly(fc.constant(operation.method.toUpperCase()), fc.constantFrom(...methods), 30),
      path: pathFor(operation, sources),
      query: queryFor(operation, sources),
      credentials,
      headers: headersFor(operation),
      content,
    })
    .map(({ method, path, query, credentials: own, headers, content: { headers: type, body } }) => ({
      method,
      target: `${path}${query}`,
      headers: { ...headers, ...type, ...own },
      body,
    }));
}

function jsonContent(operation: Operation, sources: StormSources): fc.Arbitrary<Content> {
  const body = bodyFor(operation, sources);
  return fc.record({
    headers: body === null ? mostly(fc.constant({}), contentType, 4) : contentType,
    body: body ?? mostly(fc.constant(null), bodyOf(hostileValue), 4),
  });
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'];

/** The usual, and once in so many cases the other. */
export function mostly<T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>, once: number): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: once - 1 }, { arbitrary: other, weight: 1 });
}

/** What can stand in a request line; what cannot is for the suites that write bytes themselves. */
const targetText = (text: string, length: number) =>
  text
    .slice(0, length)
    .replace(/[^\x21-\x7e]/g, (part) => encodeURIComponent(part.toWellFormed()))
    .slice(0, length);
/** At most this long, so that it may end within an encoded character. */
const encoded = (text: string, length: number) =>
  encodeURIComponent(text.slice(0, length).toWellFormed()).slice(0, length);
/** What can stand in a header. */
export const headerText = (text: string) => text.slice(0, 5_000).replace(/[^\x20-\x7e\x80-\xff]/g, '?');

const garbledPath = fc.constantFrom<(path: string) => string>(
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.replaceAll('/', '//'),
  (path) => `${path}/..`,
  (path) => `${path}/../../healthz`,
  (path) => `/..${path}`,
  (path) => `/%2e%2e${path}`,
  (path) => `/docs/static/..%2f..%2fpackage.json?${path}`,
  (path) => `/docs/static/%2e%2e/%2e%2e/package.json#${path}`,
  (path) => `${path}%00`,
  (path) => `${path}%zz`,
  (path) => `${path}%ff`,
  (path) => `${path};a=b`,
  (path) => path.toUpperCase(),
  (path) => path.replace('v1', 'v2'),
  (path) => path.replace('e', '%65'),
  (path) => `http://other.example${path}`,
);

function pathFor({ path }: Operation, { known }: StormSources): fc.Arbitrary<string> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const hostile = fc.oneof(
    hostileText.map((text) => encoded(text, 8_000)),
    hostileText.map((text) => targetText(text, 8_000)),
  );
  const values = names.map((name) => mostly<unknown>(known[name] ?? hostile, hostile, 3 * names.length));
  const filled = fc
    .tuple(...values)
    .map((chosen) =>
      names.reduce((url, name, at) => url.replace(`{${name}}`, () => String(chosen[at])), path),
    );
  return mostly(
    filled,
    fc.tuple(filled, garbledPath).map(([usual, garble]) => garble(usual)),
    10,
  );
}

interface Parameter {
  in: string;
  name: string;
  schema: unknown;
}

function parametersOf({ operation }: Operation, place: string): Parameter[] {
  const parameters: Parameter[] = operation.parameters ?? [];
  return parameters.filter((parameter) => parameter.in === place);
}

function queryFor(operation: Operation, { served, known }: StormSources): fc.Arbitrary<string> {
  const parameters = parametersOf(operation, 'query');
  const names = fc.oneof(
    fc.constantFrom(
      'limit',
      'status',
      'limit[]',
      'status[a]',
      '__proto__',
      'constructor[prototype]',
      'key',
      ...parameters.map(({ name }) => name),
    ),
    hostileText,
  );
  const encode = (text: string) => encoded(text, 2_000);
  const hostile = fc
    .array(
      fc.tuple(
        names,
        fc.oneof(
          hostileText,
          hostileValue.map((value) => String(JSON.stringify(value))),
        ),
      ),
      { maxLength: 4 },
    )
    .map((pairs) => pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&'));
  const raw = hostileText.map((text) => targetText(text, 5_000));
  const values = parameters.map(({ name, schema }) =>
    (known[name] ?? arbitraryOf(served.resolve(schema))).map((value): [string, unknown] => [name, value]),
  );
  // Few at once, because one bad value would have all others refused.
  const valid = fc
    .subarray(values, { maxLength: Math.min(values.length, 6) })
    .chain((some) => fc.tuple(...some))
    .map((query) =>
      query
        .flatMap(([name, value]) => pairsOf(name, value))
        .map(([name, value]) => `${encode(name)}=${encode(value)}`)
        .join('&'),
    );
  const doubled = fc.tuple(valid, valid).map((both) => both.join('&'));
  const usual = parameters.length === 0 ? fc.constant('') : valid;
  return fc
    .oneof(
      { arbitrary: usual, weight: 6 },
      { arbitrary: doubled, weight: 1 },
      { arbitrary: hostile, weight: 2 },
      { arbitrary: raw, weight: 1 },
    )
    .map((query) => (query === '' ? '' : `?${query}`));
}

/** Objects are sent as `name[key]=value`, lists with commas. */
function pairsOf(name: string, value: unknown): [name: string, value: string][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, textOf(value)]];
  return Object.entries(value).map(([key, each]) => [`${name}[${key}]`, textOf(each)]);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(',');
  // Not every generated object can be converted to a string.
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function authorizationFor({ key, otherKeys }: StormSources): fc.Arbitrary<Record<string, string>> {
  const others = fc.oneof(
    fc.constantFrom(...otherKeys).map((other) => `Bearer ${other}`),
    fc.constantFrom('', 'Bearer', `Basic ${key}`, key, `Bearer ${key}x`, `bearer ${key}`, `Bearer  ${key}`),
    hostileText.map((text) => `Bearer ${headerText(text)}`),
  );
  return mostly(fc.constant(`Bearer ${key}`), others, 12).map((authorization) => ({ authorization }));
}

const strangeHeaders = fc.record(
  {
    accept: fc.constantFrom('text/xml', '*/*', '', 'application/json;q=0'),
    'accept-version': fc.constantFrom('9', '*', '1.x'),
    cookie: hostileText.map(headerText),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'br', ''),
    expect: fc.constantFrom('miracles'),
    forwarded: hostileText.map(headerText),
    host: fc.constantFrom('', 'other.example', '[::1', 'a b'),
    'if-match': fc.constantFrom('*', '"a"'),
    range: fc.constantFrom('bytes=0-', 'bytes=5-1'),
    'x-forwarded-for': hostileText.map(headerText),
    'x-http-method-override': fc.constantFrom('DELETE', 'GET'),
    'x-request-id': hostileText.map(headerText),
  },
  { requiredKeys: [] },
);

/** The headers that the operation declares, filled in well and badly, and some that it does not know. */
function headersFor(operation: Operation): fc.Arbitrary<Record<string, string | string[]>> {
  const wellKnown: Record<string, fc.Arbitrary<string | string[]>> = {
    'idempotency-key': fc.oneof(
      { arbitrary: fc.integer({ min: 1, max: 200 }).map((number) => `storm-${number}`), weight: 3 },
      { arbitrary: fc.uuid(), weight: 3 },
      { arbitrary: hostileText.map(headerText), weight: 1 },
      { arbitrary: fc.constantFrom(['a', 'b'], 'k'.repeat(255), 'k'.repeat(256)), weight: 1 },
    ),
    prefer: fc.oneof(
      fc.constantFrom(
        'respond-async',
        'wait=0',
        'wait=1',
        'wait=99999999',
        'wait=-1',
        'wait',
        'wait=1, wait=2',
      ),
      hostileText.map(headerText),
    ),
  };
  const declared = parametersOf(operation, 'header').map(({ name }) => {
    const lower = name.toLowerCase();
    return [lower, wellKnown[lower] ?? hostileText.map(headerText)] as const;
  });
  const own = fc.record(Object.fromEntries(declared), { requiredKeys: [] });
  return fc
    .tuple(own, mostly(fc.constant({}), strangeHeaders, 6))
    .map(([some, strange]) => ({ ...some, ...strange }));
}

export const contentType: fc.Arbitrary<Record<string, string>> = mostly(
  fc.constant('application/json'),
  fc.oneof(
    fc.constantFrom(
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      'application/json;charset=utf-16',
      'application/jsonp',
    ),
    fc.constantFrom(
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=a',
      ';;;',
      '',
    ),
    hostileText.map(headerText),
  ),
  30,
).map((type) => ({ 'content-type': type }));

export const bodyOf = (values: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer | null> =>
  values.map((value) => Buffer.from(JSON.stringify(value) ?? ''));

/** Null for an operation that takes none. */
function bodyFor(
  { operation }: Operation,
  { served, known }: StormSources,
): fc.Arbitrary<Buffer | null> | null {
  const schema = operation.requestBody?.content['application/json'].schema;
  if (schema === undefined) return null;
  const valid = arbitraryOf(served.resolve(schema), known);
  const json = bodyOf(valid) as fc.Arbitrary<Buffer>;
  return fc.oneof(
    { arbitrary: json, weight: 9 },
    { arbitrary: bodyOf(nearly(valid)), weight: 5 },
    { arbitrary: bodyOf(hostileValue), weight: 2 },
    { arbitrary: hostileJson.map((text) => Buffer.from(text)), weight: 2 },
    { arbitrary: mutilated(json), weight: 3 },
    { arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)), weight: 1 },
    { arbitrary: fc.constant(null), weight: 1 },
  );
}

/** A valid value in which one field has become something else, is gone, or has come from nowhere. */
export function nearly(valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(valid, fc.nat(), fc.constantFrom('replace', 'remove', 'add'), hostileText, hostileValue)
    .map(([whole, position, damage, name, value]) => {
      if (typeof whole !== 'object' || whole === null) return value;
      const fields = Object.entries(whole);
      if (damage === 'add' || fields.length === 0) return Object.fromEntries([...fields, [name, value]]);
      const at = position % fields.length;
      const rest = fields.filter((_, index) => index !== at);
      return Object.fromEntries(damage === 'remove' ? rest : [...rest, [fields[at]?.[0] ?? name, value]]);
    });
}
