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
 * The schema of a tool's structured content: one of its outputs, or an error. Older clients validate errors with it too. All
 * clients require a schema of type object.
 */
export function outputSchemaOf({ outputs }: Tool): JsonSchema {
  const shapes = [...outputs, errorOutput].map(({ shape }) => shape);
  const properties: z.ZodRawShape = Object.assign({}, ...shapes);
  return {
    ...jsonSchema(z.object(properties).partial(), 'output'),
    anyOf: shapes.map((shape) => ({ required: Object.keys(shape) })),
  };
}

const errorOutput = z.object({
  code: z.string().describe('For programs; only in errors.'),
  message: z.string().describe('What is wrong and what to do; only in errors.'),
});

/** Without `$schema`: clients that know only older drafts would refuse it, and every draft reads the rest the same way. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return { ...JSON.parse(withDefaults(JSON.stringify(rest))), type: 'object' };
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
