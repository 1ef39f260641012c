import { z } from 'zod';

/** One response of a route: what it means, and what its JSON looks like. */
export interface JsonResponse<Schema extends z.ZodType> {
  description: string;
  content: { 'application/json': { schema: Schema } };
}

export function jsonResponse<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
): JsonResponse<Schema> {
  return { description, content: { 'application/json': { schema } } };
}

/** Every success has its result in `data`. */
export function dataResponse<Data extends z.ZodType>(description: string, data: Data) {
  return jsonResponse(description, z.object({ data }));
}
