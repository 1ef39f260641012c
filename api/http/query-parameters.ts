import fp from 'fastify-plugin';
import { z } from 'zod';

/**
 * Refuses query parameters that a route of this instance does not declare: with a filter that is ignored, a client would get
 * other results than it expects. A schema that is not a plain object has to be strict itself.
 */
export const refuseUnknownParameters = fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      const { querystring = z.object({}) } = route.schema ?? {};
      const strict = querystring instanceof z.ZodObject ? querystring.strict() : querystring;
      route.schema = Object.assign(route.schema ?? {}, { querystring: strict });
    });
  },
  { name: 'refuse-unknown-parameters' },
);

/** The message for a parameter that is repeated, which arrives as a list. */
export const onlyOnce = 'must be given once';

/** A number in a query string; `fallback` when it is left out. */
export function wholeNumber(description: string, least: number, greatest: number, fallback: number) {
  return numberText(least, greatest)
    .default(fallback)
    .meta({ ...numberMeta(description, least, greatest), default: fallback });
}

/** A number in a query string that may be left out. */
export function optionalWholeNumber(description: string, least: number, greatest: number) {
  return numberText(least, greatest)
    .optional()
    .meta(numberMeta(description, least, greatest));
}

function numberText(least: number, greatest: number) {
  const range = `must be a whole number from ${least} to ${greatest}`;
  return z
    .string({ error: onlyOnce })
    .regex(/^\d{1,16}$/, { error: range })
    .transform(Number)
    .pipe(
      z
        .int({ error: range })
        .min(least, { error: `must be at least ${least}` })
        .max(greatest, { error: `must be at most ${greatest}` }),
    );
}

/** Clients send an integer, which arrives as text. */
function numberMeta(description: string, least: number, greatest: number) {
  return { description, type: 'integer', minimum: least, maximum: greatest, pattern: undefined };
}
