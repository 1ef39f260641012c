import fc from 'fast-check';

/** What is used of JSON Schema by the schemas of the service. */
interface JsonSchema {
  type?: string | string[];
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  minItems?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: unknown;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  format?: string;
}

/** Values that are there already, by the name of the field that takes them: ids that lead somewhere. */
export type KnownValues = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/**
 * Values that a schema allows.
 * @throws Error for a schema of a kind that is not used yet, so that nothing is left out in silence.
 */
export function arbitraryOf(schema: unknown, known: KnownValues = {}): fc.Arbitrary<unknown> {
  const { type, enum: values, anyOf, ...rules } = schema as JsonSchema;
  if (values !== undefined) return fc.constantFrom(...values);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => arbitraryOf(one, known)));
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => arbitraryOf({ ...rules, type: one }, known)));
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return integerOf(rules);
    case 'string':
      return textOf(rules);
    case 'array':
      return fc.array(arbitraryOf(rules.items ?? {}, known), {
        minLength: rules.minItems ?? 0,
        maxLength: 5,
      });
    case 'object':
      return objectOf(rules, known);
  }
  throw new Error(`No values are made for the schema ${JSON.stringify(schema)}; teach arbitraryOf to.`);
}

/** What people ask for is small; what the schema allows besides is asked for now and then. */
function integerOf({ minimum, exclusiveMinimum = -1, maximum = Number.MAX_SAFE_INTEGER }: JsonSchema) {
  const min = minimum ?? exclusiveMinimum + 1;
  return fc.oneof(
    { arbitrary: fc.integer({ min, max: Math.min(maximum, min + 100) }), weight: 9 },
    { arbitrary: fc.integer({ min, max: maximum }), weight: 1 },
  );
}

function textOf({ pattern, format, minLength = 0, maxLength = 300 }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const range = { min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true };
    return fc.date(range).map((date) => date.toISOString());
  }
  if (pattern === undefined) return fc.string({ minLength, maxLength: Math.min(maxLength, 40) });
  return fc
    .stringMatching(new RegExp(pattern), { size: 'small' })
    .map((text) => text.slice(0, maxLength))
    .filter((text) => text.length >= minLength);
}

function objectOf(
  { properties = {}, required = [], additionalProperties }: JsonSchema,
  known: KnownValues,
): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties).map(
    ([name, field]) => [name, known[name] ?? arbitraryOf(field, known)] as const,
  );
  const record = fc.record(Object.fromEntries(fields), { requiredKeys: required });
  if (additionalProperties === false || additionalProperties === undefined) return record;
  const name = fc.string({ minLength: 1, maxLength: 40 });
  const isText = (additionalProperties as JsonSchema).type === 'string';
  return fc.dictionary(name, isText ? fc.string() : fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 });
}
