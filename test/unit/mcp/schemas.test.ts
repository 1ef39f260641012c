import { expect, test } from 'vitest';
import { inputSchemaOf, outputSchemaOf } from '#api/mcp/schemas.ts';
import { tools } from '#api/mcp/tools.ts';

const plain = new Set([
  ...['type', 'description', 'enum', 'default', 'required', 'properties', 'items'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'pattern'],
]);

type Schema = Record<string, unknown> & { properties?: Record<string, Schema>; items?: Schema };

/** A schema with those of its fields and items. */
function all(schema: Schema): Schema[] {
  const { properties = {}, items } = schema;
  return [schema, ...[...Object.values(properties), ...(items === undefined ? [] : [items])].flatMap(all)];
}

test.each(tools)('the schemas of $name have only keywords that all models take', (tool) => {
  for (const schema of [...all(inputSchemaOf(tool)), ...all(outputSchemaOf(tool))]) {
    expect(Object.keys(schema).filter((name) => !plain.has(name))).toEqual([]);
    expect(schema.type).toBeDefined();
  }
  for (const { type } of all(inputSchemaOf(tool))) expect(type).toBeTypeOf('string');
});
