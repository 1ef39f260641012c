import type { ParsedJson } from '../parsed-json.ts';

/** Which way values go: what a service sends must be what clients expect, and what clients send must be accepted. */
type Direction = 'sent' | 'accepted';

/**
 * What a document says, by where it says it. A promise is what clients rely on: it must not get weaker. A demand is what they have
 * to deal with: it must not get stronger. The strength of a limit is its value; what has no degrees is 1.
 */
class Claims {
  /** Each also with a wider one that implies it. */
  readonly promises = new Map<string, { strength: number; wider: string }>();
  /** With the part that each is about: demands of a part that is new concern no client. */
  readonly demands = new Map<string, { of: string; strength: number }>();
  readonly #document: ParsedJson;

  constructor(document: ParsedJson) {
    this.#document = document;
    for (const [path, methods] of Object.entries<ParsedJson>(document.paths)) {
      for (const [method, operation] of Object.entries<ParsedJson>(methods)) {
        this.#operation(`${method.toUpperCase()} ${path}`, operation);
      }
    }
    for (const [type, { post }] of Object.entries<ParsedJson>(document.webhooks)) {
      this.#promise(type);
      this.#schema(type, contentOf(post.requestBody), 'sent');
    }
  }

  #promise = (what: string, strength = 1, wider = what) => this.promises.set(what, { strength, wider });
  #demand = (of: string, what: string, strength = 1) => this.demands.set(`${of}${what}`, { of, strength });

  #operation(name: string, { operationId, security, parameters = [], ...of }: ParsedJson): void {
    this.#promise(name);
    this.#promise(`${name} operationId ${operationId}`);
    for (const scope of security?.[0]?.apiKey ?? []) this.#demand(name, ` needs ${scope}`);
    for (const parameter of parameters) {
      const where = `${name} ${parameter.in} ${parameter.name}`;
      this.#promise(where);
      if (parameter.required) this.#demand(name, ` ${parameter.in} ${parameter.name}: now required`);
      this.#schema(where, parameter.schema, 'accepted');
    }
    if (of.requestBody?.required) this.#demand(name, ' body: now required');
    if (of.requestBody !== undefined) this.#schema(`${name} body`, contentOf(of.requestBody), 'accepted');
    for (const [status, response] of Object.entries<ParsedJson>(of.responses)) {
      const where = `${name} ${status}`;
      this.#promise(where);
      for (const header of Object.keys(response.headers ?? {})) this.#promise(`${where} header ${header}`);
      // An error has an example of each code that it may have.
      const { examples = {} } = response.content['application/json'];
      if (status !== '200') for (const code of Object.keys(examples)) this.#promise(`${where} ${code}`);
      this.#schema(where, contentOf(response), 'sent');
    }
  }

  #schema(where: string, schema: ParsedJson, direction: Direction): void {
    const all = alternatives(this.#document, schema);
    const isOpen = all.some((one) => one.type === 'string' && one.enum === undefined);
    const objects = all.filter(({ properties }) => properties !== undefined);
    for (const one of all) {
      // Each kind of object is a place of its own, with its own fields.
      const place = objects.length > 1 && objects.includes(one) ? `${where}(${objects.indexOf(one)})` : where;
      this.#promise(place);
      if (direction === 'sent') this.#sentValues(where, one, isOpen);
      else this.#acceptedValues(where, one);
      this.#rules(place, one, direction);
      this.#fields(place, one, direction);
    }
  }

  /** Clients deal with each type and, unless any other text may come, with each value. */
  #sentValues(where: string, schema: ParsedJson, isOpen: boolean): void {
    this.#demand(where, ` may be ${withWhole(schema.type)}`);
    for (const value of valuesOf(schema) ?? []) {
      this.#promise(`${where} ${value}`);
      if (!isOpen) this.#demand(where, ` may be ${value}`);
    }
  }

  /** A value is still accepted where every value of its type is. */
  #acceptedValues(where: string, schema: ParsedJson): void {
    const wider = `${where} as ${withWhole(schema.type)}`;
    const accepted = valuesOf(schema) ?? [`as ${schema.type}`];
    for (const each of accepted) this.#promise(`${where} ${each}`, 1, wider);
  }

  /** A rule of what is sent is a promise to clients, one of what is accepted a demand. */
  #rules(where: string, schema: ParsedJson, direction: Direction): void {
    const add = (what: string, strength = 1) =>
      direction === 'sent' ? this.#promise(`${where}${what}`, strength) : this.#demand(where, what, strength);
    for (const rule of ['const', 'format', 'pattern']) {
      if (schema[rule] !== undefined) add(` ${rule} ${schema[rule]}`);
    }
    for (const [rule, value] of Object.entries(schema)) {
      if (/^(m|exclusiveM)in/.test(rule)) add(` ${rule}`, value as number);
      if (/^(m|exclusiveM)ax/.test(rule)) add(` ${rule}`, -(value as number));
    }
    for (const name of schema.required ?? []) {
      add(`.${name}: ${direction === 'sent' ? 'no longer' : 'now'} required`);
    }
  }

  #fields(where: string, { properties = {}, items, additionalProperties }: ParsedJson, way: Direction): void {
    for (const [name, field] of Object.entries(properties)) this.#schema(`${where}.${name}`, field, way);
    if (items) this.#schema(`${where}[]`, items, way);
    if (typeof additionalProperties === 'object') this.#schema(`${where}.*`, additionalProperties, way);
  }
}

/**
 * What breaks clients that were built for an earlier OpenAPI document, a line each: a removed or renamed operation, parameter, field,
 * response, error or event, a new required input, an input that is narrower, an output that is wider where the document did not leave
 * it open.
 */
export function breakingChanges(earlier: ParsedJson, later: ParsedJson): string[] {
  const [before, now] = [new Claims(earlier), new Claims(later)];
  const removed = [...before.promises].flatMap(([what, { wider }]) =>
    now.promises.has(what) || now.promises.has(wider) ? [] : [what],
  );
  const weaker = [...before.promises].flatMap(([what, { strength }]) =>
    (now.promises.get(what)?.strength ?? strength) < strength ? [`${what}: weaker`] : [],
  );
  const stronger = [...now.demands].flatMap(([what, { of, strength }]) => {
    const was = before.demands.get(what)?.strength ?? Number.NEGATIVE_INFINITY;
    return before.promises.has(of) && strength > was ? [what] : [];
  });
  // Not what a removed part consists of.
  const isPart = (what: string) =>
    removed.some((whole) => what.startsWith(whole) && /[ .[(]/.test(what.charAt(whole.length)));
  const gone = removed.filter((what) => !isPart(what));
  return [
    ...gone.map((what) => (what.endsWith('required') ? what : `${what}: removed`)),
    ...weaker,
    ...stronger,
  ];
}

/** A number may be whole. */
const withWhole = (type: string) => (type === 'integer' ? 'number' : type);

const valuesOf = (schema: ParsedJson): string[] | undefined =>
  schema.enum?.map((value: unknown) => JSON.stringify(value));

const contentOf = (holder: ParsedJson) => holder?.content?.['application/json']?.schema;

/** The schemas of which a value has to match one, without references. */
function alternatives(document: ParsedJson, schema: ParsedJson): ParsedJson[] {
  const { $ref, anyOf, type, ...rest } = schema;
  if ($ref !== undefined) {
    return alternatives(document, document.components.schemas[$ref.split('/').at(-1) ?? '']);
  }
  if (anyOf !== undefined)
    return anyOf.flatMap((one: ParsedJson) => alternatives(document, { ...rest, ...one }));
  return [type].flat().map((one) => ({ ...rest, ...(one === undefined ? {} : { type: one }) }));
}
