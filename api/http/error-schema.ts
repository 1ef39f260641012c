import { z } from 'zod';
import { type ErrorCode, errorCatalogue } from '../../shared/platform/errors.ts';
import { type JsonResponse, jsonResponse } from './response-schema.ts';

const codes = Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]];

/** The body of every error response. */
export const errorSchema = z
  .object({
    error: z.object({
      message: z.string().meta({ description: 'For people: what is wrong and what to do next.' }),
      code: z.enum(codes).meta({ description: 'For programs.' }),
    }),
  })
  .meta({
    id: 'Error',
    examples: [{ error: { code: 'not_found', message: 'No such refund.' } }],
  });

/** Errors that any authenticated route may answer. */
const always: readonly ErrorCode[] = [
  'validation_error',
  'invalid_api_key',
  'rate_limited',
  'internal_error',
  'service_unavailable',
];

/** The error responses of a route: these, and those that any route may answer. */
export function errorResponses(...specific: ErrorCode[]): Record<number, JsonResponse<typeof errorSchema>> {
  const codesHere = [...specific, ...always];
  const statuses = new Set(codesHere.map((code) => errorCatalogue[code].status));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const ofStatus = codesHere.filter((code) => errorCatalogue[code].status === status);
      const description = ofStatus.map((code) => `\`${code}\`: ${errorCatalogue[code].summary}`).join('\n\n');
      return [status, jsonResponse(description, errorSchema)];
    }),
  );
}
