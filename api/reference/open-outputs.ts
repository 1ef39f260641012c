/** A JSON schema, as far as it is changed here. */
export interface JsonSchema {
  type?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  additionalProperties?: unknown;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
}

/**
 * Opens what the service answers for growth: objects may have further fields, and texts with known values others, so that a generated client
 * reads what a later version adds. Changes the schema that it is given. Schemas of requests stay closed.
 */
export function openOutput(schema: JsonSchema): void {
  const { properties = {}, additionalProperties, items, anyOf = [] } = schema;
  if (additionalProperties === false) delete schema.additionalProperties;
  for (const part of [...Object.values(properties), ...anyOf, ...(items ? [items] : [])]) openOutput(part);
  if (anyOf.length > 0)
    schema.anyOf = anyOf.flatMap(({ anyOf: inner, ...rest }) => {
      const isPlain = inner !== undefined && Object.keys(rest).length === 0;
      return isPlain ? inner : [{ ...rest, ...(inner && { anyOf: inner }) }];
    });
  // With one value it is a constant.
  if (schema.enum === undefined || schema.enum.length === 1) return;
  schema.anyOf = [{ type: schema.type, enum: schema.enum }, { type: schema.type }];
  delete schema.type;
  delete schema.enum;
}
