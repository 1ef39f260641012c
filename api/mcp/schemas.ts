import { z } from 'zod';
import { ServiceError } from '#shared/platform/errors.ts';
import { describeInvalidFields } from '../http/invalid-fields.ts';
import { withDefaults } from '../operations/fields.ts';
import type { Tool } from './tools.ts';

type JsonSchema = { type: 'object' } & Record<string, unknown>;

/** The schema of a tool's arguments. */
export function inputSchemaOf({ input }: Tool): JsonSchema {
  return jsonSchema(input, 'input');
}

/**
 * The schema of a tool's structured content: one of its outputs, or an error. Older clients validate errors with it too, so no field
 * is required.
 */
export function outputSchemaOf({ outputs }: Tool): JsonSchema {
  const properties: z.ZodRawShape = Object.assign({}, ...[...outputs, errorOutput].map(({ shape }) => shape));
  return jsonSchema(z.object(properties).partial(), 'output');
}

const errorOutput = z.object({
  code: z.string().describe('For programs; only in errors.'),
  message: z.string().describe('What is wrong and what to do; only in errors.'),
});

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $defs = {}, ...rest } = JSON.parse(withDefaults(JSON.stringify(z.toJSONSchema(schema, { io }))));
  return { ...plain(rest, $defs, io), type: 'object' };
}

/**
 * The keywords that all models' APIs take. Clients send the tools of all servers in one request, and an API that does not know a keyword,
 * such as `const`, `propertyNames` or `$ref`, refuses all of them. The service checks arguments itself.
 */
const plainKeywords = [
  ...['type', 'description', 'enum', 'default', 'required'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'pattern'],
];

type Keywords = Record<string, unknown>;

/** The schema in plain keywords. In an input, null is left out: what is optional need not be given. */
function plain(given: Keywords, definitions: Record<string, Keywords>, io: 'input' | 'output'): Keywords {
  const schema = withoutReference(given, definitions);
  const result: Keywords = Object.fromEntries(
    plainKeywords.flatMap((name) => (name in schema ? [[name, schema[name]]] : [])),
  );
  const { exclusiveMinimum, properties, items, type } = schema;
  // Only whole numbers have one.
  if (typeof exclusiveMinimum === 'number') result.minimum = exclusiveMinimum + 1;
  if (items !== undefined) result.items = plain(items as Keywords, definitions, io);
  if (properties !== undefined) {
    const fields = Object.entries(properties as Record<string, Keywords>);
    result.properties = Object.fromEntries(
      fields.map(([name, field]) => [name, plain(field, definitions, io)]),
    );
  }
  if (Array.isArray(type) && io === 'input') [result.type] = type;
  return result;
}

/** What a reference stands for, and a schema or null as one schema with two types. */
function withoutReference(given: Keywords, definitions: Record<string, Keywords>): Keywords {
  const { $ref, anyOf, ...rest } = given;
  if (typeof $ref === 'string') return { ...definitions[$ref.slice('#/$defs/'.length)], ...rest };
  if (!Array.isArray(anyOf)) return given;
  const one = withoutReference(
    anyOf.find(({ type }) => type !== 'null'),
    definitions,
  );
  const values = Array.isArray(one.enum) ? { enum: [...one.enum, null] } : {};
  return { ...one, ...values, ...rest, type: [one.type, 'null'] };
}

/**
 * Reads the arguments of a call.
 * @throws ServiceError validation_error, which names every invalid argument. If an argument is unknown, it also lists the valid
 * ones.
 */
export function readArguments<Input extends z.ZodType>(tool: Tool<Input>, given: unknown): z.output<Input> {
  const { input } = tool;
  const parsed = input.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = describeInvalidFields({ body: input }, { body: given });
  const hasUnknown = parsed.error.issues.some(({ code }) => code === 'unrecognized_keys');
  const all = Object.keys(inputSchemaOf(tool).properties ?? {}).join(', ');
  throw new ServiceError('validation_error', hasUnknown ? `${problems}. The fields are: ${all}.` : problems);
}
