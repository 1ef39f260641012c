import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../shared/platform/errors.ts';
import { holdsStorableTexts, isStorable, unstorableMessage } from '../../shared/platform/json.ts';

/**
 * Refuses what PostgreSQL could not store or look for, wherever it stands in a query or a body, on every route of this
 * instance: programs, people with a form and the board of the queues are answered 400 before anything is done. An id in a
 * path is looked up like any other, and unknown.
 */
export function refuseUnstorableText(app: FastifyInstance): void {
  app.addHook('preValidation', async (request) => {
    for (const place of ['body', 'query'] as const) {
      const problem = problemIn(place, request[place]);
      if (problem !== null) throw new ServiceError('validation_error', `${problem}.`);
    }
  });
}

/** Names the field, or the place alone where the field's own name cannot be told. */
function problemIn(place: string, content: unknown): string | null {
  if (holdsStorableTexts(content)) return null;
  const isField = ([name, value]: [string, unknown]) => isStorable(name) && !holdsStorableTexts(value);
  const [field] = Array.isArray(content) ? [] : Object.entries(content ?? {}).filter(isField);
  const name = field === undefined ? place : `${place}.${field[0].slice(0, 40)}`;
  return `${name}: ${unstorableMessage}`;
}
