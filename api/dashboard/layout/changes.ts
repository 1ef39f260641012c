import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Api } from '#api/http/route.ts';
import type { Role } from '#shared/platform/database.ts';
import { answerForm, type FormSchema, type FormState, type problemsOf, readChoices } from '../http/forms.ts';
import { type DoneWord, leadTo } from './done.tsx';

/** A form, by default without entries. */
interface Options<T> {
  config?: { role?: Role; confirm?: true };
  schema?: FormSchema<T>;
  /** Shows the form with what is wrong; without it, that is an error page. */
  again?: (reply: FastifyReply, form: FormState) => FastifyReply | Promise<FastifyReply>;
  /** The errors that are shown in the form: those of validation, by default. */
  problemsIn?: typeof problemsOf;
}

/**
 * Adds routes of forms that change something, and lead to a page that confirms it.
 * @param page the address of that page, or its path below the environment; it may have parameters of the form's own address.
 */
export function changesOf(scope: Api, page: string) {
  return <T = object>(
    path: string,
    { config = {}, schema = z.object({}) as never, again, ...answers }: Options<T>,
    done: DoneWord | ((entries: T) => DoneWord),
    change: (request: FastifyRequest, entries: T, reply: FastifyReply) => Promise<unknown>,
  ): void => {
    scope.post(path, { config }, async (request, reply) => {
      const run = async (entries: T) => {
        await change(request, entries, reply);
        const { params } = request as { params: Record<string, string> };
        const to = page.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
        return leadTo(reply, to, typeof done === 'string' ? done : done(entries));
      };
      if (again === undefined) return await run(readChoices(schema, request.body));
      return await answerForm(reply, { schema, run, again: (form) => again(reply, form), ...answers });
    });
  };
}
