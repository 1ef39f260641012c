import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Api } from '#api/http/route.ts';
import type { Role } from '#shared/platform/database.ts';
import { answerForm, type FormSchema, type FormState, type problemsOf } from '../http/forms.ts';
import { type DoneWord, leadTo } from './done.tsx';

/** A form, by default without entries. */
interface Options<T> {
  config?: { role?: Role; confirm?: true };
  schema?: FormSchema<T>;
  /** As `answerForm` takes it, and the reply. */
  again?: (reply: FastifyReply, form: FormState) => FastifyReply | Promise<FastifyReply>;
  /** The errors that are shown in the form: those of validation, by default. */
  problemsIn?: typeof problemsOf;
}

/**
 * Adds the route of a form that changes something.
 * @param path where the form is posted.
 * @param done what the page that follows says, by its word.
 * @param change makes the change.
 */
type AddChange = <T = object>(
  path: string,
  options: Options<T>,
  done: DoneWord | ((entries: T) => DoneWord),
  change: (request: FastifyRequest, entries: T, reply: FastifyReply) => Promise<unknown>,
) => void;

/**
 * Returns what adds the routes of forms that lead to one page.
 * @param page its address, or its path below the environment, with parameters as in the forms' addresses.
 */
export function changesOf(scope: Api, page: string): AddChange {
  return (path, options, done, change) => {
    const { config = {}, schema = z.object({}) as never, again, ...answers } = options;
    scope.post(path, { config }, (request, reply) =>
      answerForm(reply, {
        ...{ schema, again: again && ((form) => again(reply, form)), ...answers },
        async run(entries) {
          await change(request, entries, reply);
          const { params } = request as { params: Record<string, string> };
          const to = page.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
          return leadTo(reply, to, typeof done === 'string' ? done : done(entries));
        },
      }),
    );
  };
}
