import fc from 'fast-check';
import { hostileText, hostileValue } from './hostile-values.ts';
import type { KnownValues } from './schema-arbitrary.ts';

/** A request as it goes over the wire: the target and the headers are what HTTP allows, and nothing else is certain. */
export interface StormRequest {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

/** A body, and the headers that belong to it. */
export interface Content {
  headers: Record<string, string>;
  body: Buffer | null;
}

/** What well-formed requests to a route consist of. */
export interface RouteParts {
  method: string;
  /** With parameters as `:name`. */
  url: string;
  /** Values for parameters of the path, by name. */
  known: KnownValues;
  credentials: fc.Arbitrary<Record<string, string>>;
  query?: KnownValues;
  headers?: Record<string, fc.Arbitrary<string>>;
  content?: fc.Arbitrary<Content>;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/** The usual, and once in so many cases the other. */
export function mostly<T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>, once: number): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: once - 1 }, { arbitrary: other, weight: 1 });
}

/** What can stand in a header. */
export const headerText = hostileText.map((text) =>
  text.slice(0, 5_000).replace(/[^\x20-\x7e\x80-\xff]/g, '?'),
);

/** Cut off after encoding, so that it may end within an encoded character. */
const encoded = (value: unknown) => {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return encodeURIComponent(text.slice(0, 8_000).toWellFormed()).slice(0, 8_000);
};

/** Requests to one route: valid ones, nearly valid ones, and such that no one would make in good faith. */
export function requestsTo(parts: RouteParts): fc.Arbitrary<StormRequest> {
  const { method, credentials, headers = {}, content = mostly(nothing, jsonOf(hostileValue), 4) } = parts;
  return fc
    .record({
      method: mostly(fc.constant(method.toUpperCase()), fc.constantFrom(...methods), 30),
      path: pathOf(parts),
      query: queryOf(parts),
      own: credentials,
      declared: fc.record(headers, { requiredKeys: [] }),
      strange: mostly(fc.constant({}), strangeHeaders, 6),
      sent: content,
    })
    .map(({ method: chosen, path, query, own, declared, strange, sent }) => ({
      method: chosen,
      target: `${path}${query}`,
      headers: { ...declared, ...strange, ...sent.headers, ...own },
      body: sent.body,
    }));
}

function pathOf({ url, known }: RouteParts): fc.Arbitrary<string> {
  const names = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const hostile = hostileText.map(encoded);
  const values = names.map((name) => mostly<unknown>(known[name] ?? hostile, hostile, 3 * names.length));
  return fc
    .tuple(...values)
    .map((chosen) => names.reduce((path, name, at) => path.replace(`:${name}`, () => `${chosen[at]}`), url));
}

function queryOf({ query = {} }: RouteParts): fc.Arbitrary<string> {
  const valid = Object.entries(query).map(([name, values]) => values.map((value) => pairsOf(name, value)));
  const hostileName = fc.constantFrom(
    'limit[]',
    'status[a]',
    '__proto__',
    'a[prototype]',
    ...Object.keys(query),
  );
  const hostile = fc
    .tuple(fc.oneof(hostileName, hostileText), fc.oneof(hostileText, hostileValue))
    .map(([name, value]) => [`${encoded(name)}=${encoded(value)}`]);
  // Few at once, because one bad value would have all others refused.
  const usual = fc
    .subarray(valid, { maxLength: Math.min(valid.length, 4) })
    .chain((some) => fc.tuple(...some));
  const any = mostly(
    usual,
    fc.tuple(usual, fc.array(hostile, { maxLength: 3 })).map((both) => both.flat()),
    3,
  );
  return any.map((pairs) => (pairs.length === 0 ? '' : `?${pairs.flat().join('&')}`));
}

/** Objects are sent as `name[key]=value`, lists with commas. */
function pairsOf(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return [`${encoded(name)}=${encoded(value.join(','))}`];
  if (typeof value !== 'object' || value === null) return [`${encoded(name)}=${encoded(value)}`];
  return Object.entries(value).map(([key, each]) => `${encoded(`${name}[${key}]`)}=${encoded(each)}`);
}

const strangeHeaders = fc.record(
  {
    accept: fc.constantFrom('text/xml', '*/*', ''),
    'content-encoding': fc.constantFrom('gzip', 'br', ''),
    expect: fc.constantFrom('miracles'),
    forwarded: headerText,
    host: fc.constantFrom('', 'other.example', '[::1', 'a b'),
    range: fc.constantFrom('bytes=0-', 'bytes=5-1'),
    'x-forwarded-for': headerText,
    'x-http-method-override': fc.constantFrom('DELETE', 'GET'),
    'x-request-id': headerText,
  },
  { requiredKeys: [] },
);

const contentType = mostly(
  fc.constant('application/json'),
  fc.oneof(
    fc.constantFrom('application/json;charset=utf-16', 'text/plain', 'multipart/form-data', ''),
    headerText,
  ),
  30,
);

const nothing: fc.Arbitrary<Content> = fc.constant({ headers: {}, body: null });

/** Bodies that are one of these values, nearly one, or anything. */
export function jsonLike(valid: fc.Arbitrary<unknown>): fc.Arbitrary<Content> {
  return fc.oneof(
    { arbitrary: jsonOf(valid), weight: 9 },
    { arbitrary: jsonOf(nearly(valid)), weight: 5 },
    { arbitrary: jsonOf(hostileValue), weight: 2 },
    { arbitrary: damaged(jsonOf(valid)), weight: 3 },
    { arbitrary: nothing, weight: 1 },
  );
}

function jsonOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<Content> {
  return fc.tuple(contentType, values).map(([type, value]) => ({
    headers: { 'content-type': type },
    body: Buffer.from(JSON.stringify(value) ?? ''),
  }));
}

/** The same headers with bodies of which bytes were overwritten, doubled or cut off. */
export function damaged(contents: fc.Arbitrary<Content>): fc.Arbitrary<Content> {
  const edits = fc.array(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 4 })), { minLength: 1, maxLength: 4 });
  return fc.tuple(contents, edits).map(([{ headers, body }, changes]) => {
    let bytes = body ?? Buffer.alloc(0);
    for (const [position, insertion] of changes) {
      const at = bytes.length === 0 ? 0 : position % bytes.length;
      bytes = Buffer.concat([bytes.subarray(0, at), insertion, bytes.subarray(at + (position % 3))]);
    }
    return { headers, body: bytes };
  });
}

/** Named values of which one has become another, is gone, or has come from nowhere. */
export function changed<V>(
  lists: fc.Arbitrary<[string, V][]>,
  other: fc.Arbitrary<[string, V]>,
): fc.Arbitrary<[string, V][]> {
  return fc
    .tuple(lists, fc.nat(), fc.constantFrom('replace', 'remove', 'add'), other)
    .map(([entries, position, damage, [name, value]]) => {
      if (damage === 'add' || entries.length === 0) return [...entries, [name, value]];
      const at = position % entries.length;
      const replaced: [string, V][] = damage === 'remove' ? [] : [[entries[at]?.[0] ?? name, value]];
      return entries.toSpliced(at, 1, ...replaced);
    });
}

/** A valid value with one field changed, or something else in place of what has no fields. */
export function nearly(valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const strange = fc.tuple(hostileText, hostileValue);
  return valid.chain((whole) => {
    if (typeof whole !== 'object' || whole === null) return hostileValue;
    return changed(fc.constant(Object.entries(whole)), strange).map(Object.fromEntries);
  });
}
