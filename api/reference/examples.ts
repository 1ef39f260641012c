import { z } from 'zod';

/** Examples by name, as OpenAPI has them. */
export type NamedExamples = Record<string, { value: unknown }>;

/** Examples of a schema by name; empty when its parts have too few. */
export function namedExamples(schema: z.ZodType): NamedExamples {
  const values = examplesOf(schema);
  const [only] = values;
  if (values.length === 1) return { example: { value: only } };
  return Object.fromEntries(values.map((value, index) => [`example${index + 1}`, { value }]));
}

/**
 * The examples in a schema's metadata, or else values made from those of its parts. A field without any is left out, and a
 * required one makes the result empty.
 */
function examplesOf(schema: z.ZodType): unknown[] {
  const given = schema.meta()?.examples;
  if (Array.isArray(given)) return given;
  if (schema instanceof z.ZodObject) return examplesOfObject(schema);
  if (schema instanceof z.ZodArray) return examplesOf(schema.element as z.ZodType).map((value) => [value]);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => examplesOf(one as z.ZodType));
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodLiteral) return first(schema);
  if (schema instanceof z.ZodBoolean) return [true];
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return examplesOf(schema.unwrap() as z.ZodType);
  }
  return [];
}

function examplesOfObject({ shape }: z.ZodObject): unknown[] {
  const fields = Object.entries(shape as Record<string, z.ZodType>).map(
    ([name, field]) => [name, field, examplesOf(field)] as const,
  );
  if (fields.some(([, field, values]) => values.length === 0 && !field.safeParse(undefined).success))
    return [];
  const count = Math.max(1, ...fields.map(([, , values]) => values.length));
  const filled = fields.filter(([, , values]) => values.length > 0);
  return Array.from({ length: count }, (_, index) =>
    Object.fromEntries(filled.map(([name, , values]) => [name, values[index % values.length]])),
  );
}

function first(schema: z.ZodEnum | z.ZodLiteral): unknown[] {
  const [value] = schema instanceof z.ZodEnum ? schema.options : schema.values;
  return [value];
}
