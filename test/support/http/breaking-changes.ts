import type { ParsedJson } from '../parsed-json.ts';

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  [constraint: string]: unknown;
}

/** Which way values go: what a service sends must be what clients expect, and what clients send must be accepted. */
type Direction = 'sent' | 'accepted';

/**
 * What breaks clients that were built for an earlier OpenAPI document, a line each: a removed or renamed operation, parameter, field, response,
 * error or event, a new required input, an input that is narrower, an output that is wider where the document did not leave it open.
 */
export function breakingChanges(earlier: ParsedJson, later: ParsedJson): string[] {
  const comparison = new Comparison(earlier, later);
  for (const [path, methods] of Object.entries<ParsedJson>(earlier.paths)) {
    for (const [method, operation] of Object.entries<ParsedJson>(methods)) {
      comparison.operation(`${method.toUpperCase()} ${path}`, operation, later.paths[path]?.[method]);
    }
  }
  for (const [type, { post }] of Object.entries<ParsedJson>(earlier.webhooks)) {
    const now = later.webhooks[type]?.post;
    if (now === undefined) comparison.found.push(`${type}: removed`);
    else comparison.schema(type, contentOf(post.requestBody), contentOf(now.requestBody), 'sent');
  }
  return comparison.found;
}

const contentOf = (holder: ParsedJson) => holder?.content?.['application/json']?.schema;

const examplesIn = (response: ParsedJson) => Object.keys(response.content['application/json'].examples ?? {});

class Comparison {
  readonly found: string[] = [];
  readonly #earlier: ParsedJson;
  readonly #later: ParsedJson;

  constructor(earlier: ParsedJson, later: ParsedJson) {
    this.#earlier = earlier;
    this.#later = later;
  }

  operation(where: string, earlier: ParsedJson, later: ParsedJson | undefined): void {
    if (later === undefined) {
      this.found.push(`${where}: removed`);
      return;
    }
    if (later.operationId !== earlier.operationId) this.found.push(`${where}: operationId renamed`);
    const scopes = (one: ParsedJson): string[] => one.security?.[0]?.apiKey ?? [];
    for (const scope of scopes(later)) {
      if (!scopes(earlier).includes(scope)) this.found.push(`${where}: needs ${scope}`);
    }
    this.#parameters(where, earlier.parameters ?? [], later.parameters ?? []);
    this.#body(where, earlier.requestBody, later.requestBody);
    for (const [status, response] of Object.entries<ParsedJson>(earlier.responses)) {
      this.#response(`${where} ${status}`, response, later.responses[status]);
    }
  }

  #parameters(where: string, earlier: ParsedJson[], later: ParsedJson[]): void {
    const keyOf = (one: ParsedJson) => `${one.in} ${one.name}`;
    const nowBy = new Map(later.map((one) => [keyOf(one), one]));
    const before = new Set(earlier.map(keyOf));
    for (const one of earlier) {
      const now = nowBy.get(keyOf(one));
      if (now === undefined) this.found.push(`${where} ${keyOf(one)}: removed`);
      else this.schema(`${where} ${keyOf(one)}`, one.schema, now.schema, 'accepted');
    }
    const wasRequired = new Set(earlier.filter(({ required }) => required).map(keyOf));
    for (const one of later) {
      if (!one.required || wasRequired.has(keyOf(one))) continue;
      this.found.push(`${where} ${keyOf(one)}: ${before.has(keyOf(one)) ? 'now' : 'new and'} required`);
    }
  }

  #body(where: string, earlier: ParsedJson, later: ParsedJson): void {
    // Without a schema a body is ignored.
    if (later === undefined) return;
    if (later.required && !earlier?.required) this.found.push(`${where} body: now required`);
    if (earlier !== undefined) this.schema(`${where} body`, contentOf(earlier), contentOf(later), 'accepted');
  }

  #response(where: string, earlier: ParsedJson, later: ParsedJson | undefined): void {
    if (later === undefined) {
      this.found.push(`${where}: removed`);
      return;
    }
    for (const name of Object.keys(earlier.headers ?? {})) {
      if (!(name in (later.headers ?? {}))) this.found.push(`${where} header ${name}: removed`);
    }
    // An error has an example of each code that it may have.
    const codes = where.endsWith(' 200') ? [] : examplesIn(earlier);
    for (const code of codes) {
      if (!examplesIn(later).includes(code)) this.found.push(`${where} ${code}: removed`);
    }
    this.schema(where, contentOf(earlier), contentOf(later), 'sent');
  }

  /** Compares the alternatives of two schemas: each that may arrive has to fit one that is expected. */
  schema(where: string, earlier: Schema, later: Schema, direction: Direction): void {
    const before = alternatives(this.#earlier, earlier);
    const now = alternatives(this.#later, later);
    const [arriving, expected] = direction === 'sent' ? [now, before] : [before, now];
    for (const one of arriving) {
      const attempts = expected.map((other) => {
        const [was, is] = direction === 'sent' ? [other, one] : [one, other];
        const attempt = new Comparison(this.#earlier, this.#later);
        attempt.#alternative(where, was, is, direction);
        return attempt.found;
      });
      const fewest = attempts.toSorted((a, b) => a.length - b.length)[0];
      this.found.push(...(fewest ?? [`${where}: removed`]));
    }
    const known = new Set(now.flatMap((one) => one.enum ?? []));
    for (const value of direction === 'sent' ? before.flatMap((one) => one.enum ?? []) : []) {
      if (!known.has(value)) this.found.push(`${where} ${JSON.stringify(value)}: removed`);
    }
  }

  #alternative(where: string, earlier: Schema, later: Schema, direction: Direction): void {
    const [arriving, expected] = direction === 'sent' ? [later, earlier] : [earlier, later];
    const isWhole = arriving.type === 'integer' && expected.type === 'number';
    if (expected.type !== undefined && arriving.type !== expected.type && !isWhole) {
      this.found.push(`${where}: ${earlier.type} became ${later.type}`);
      return;
    }
    for (const rule of ['const', 'format', 'pattern']) {
      const isNew = expected[rule] !== undefined && expected[rule] !== arriving[rule];
      if (isNew) this.found.push(`${where} ${rule}: changed`);
    }
    if (expected.enum !== undefined) {
      const unexpected = (arriving.enum ?? ['any']).filter((value) => !expected.enum?.includes(value));
      for (const value of unexpected) this.found.push(`${where} ${JSON.stringify(value)}: not ${direction}`);
    }
    this.#limits(where, arriving, expected);
    this.#fields(where, earlier, later, direction);
    if (earlier.items && later.items) this.schema(`${where}[]`, earlier.items, later.items, direction);
    const [was, is] = [earlier.additionalProperties, later.additionalProperties];
    if (typeof was === 'object' && typeof is === 'object') this.schema(`${where}.*`, was, is, direction);
  }

  #limits(where: string, arriving: Schema, expected: Schema): void {
    const least = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
    const most = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
    for (const rule of [...least, ...most]) {
      if (expected[rule] === undefined) continue;
      const unlimited = least.includes(rule) ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
      const [given, limit] = [Number(arriving[rule] ?? unlimited), Number(expected[rule])];
      if (least.includes(rule) ? given < limit : given > limit) this.found.push(`${where} ${rule}: changed`);
    }
  }

  #fields(where: string, earlier: Schema, later: Schema, direction: Direction): void {
    const { properties: now = {} } = later;
    for (const [name, field] of Object.entries(earlier.properties ?? {})) {
      const is = now[name];
      if (is === undefined) this.found.push(`${where}.${name}: removed`);
      else this.schema(`${where}.${name}`, field, is, direction);
    }
    const [arriving, expected] = direction === 'sent' ? [later, earlier] : [earlier, later];
    for (const name of expected.required ?? []) {
      const isMissing = name in now && !arriving.required?.includes(name);
      if (isMissing)
        this.found.push(`${where}.${name}: ${direction === 'sent' ? 'no longer' : 'now'} required`);
    }
  }
}

/** The schemas of which a value has to match one, without references. */
function alternatives(document: ParsedJson, schema: Schema): Schema[] {
  const { $ref, anyOf, type, ...rest } = schema;
  if ($ref !== undefined) {
    return alternatives(document, document.components.schemas[$ref.split('/').at(-1) ?? '']);
  }
  if (anyOf !== undefined) return anyOf.flatMap((one) => alternatives(document, { ...rest, ...one }));
  return [type].flat().map((one) => ({ ...rest, ...(one === undefined ? {} : { type: one }) }));
}
