import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FunctionComponent, h, isValidElement, type VNode } from 'preact';
import { z } from 'zod';
import type { Api } from '#api/http/route.ts';
import type { DoneWord } from '../words/done.ts';
import { addressIn, type Guard, needs } from './access.ts';
import { leaveWord } from './flash.ts';
import { type FormProblems, type problemsOf, readForm, validationProblemsOf } from './forms.ts';
import { isForPart } from './render.ts';

/** Another page to go to, and what that page confirms. */
export class Redirect {
  readonly to: string;
  readonly word: DoneWord | null;

  constructor(to: string, word: DoneWord | null = null) {
    this.to = to;
    this.word = word;
  }
}

/** Leads to another page. @param to its address, or its path below the environment. @param word what it confirms. */
export function leadTo(to: string, word?: DoneWord): Redirect {
  return new Redirect(to, word);
}

type Awaitable<T> = T | Promise<T>;

/** Reads what a page shows, or where it leads instead. Sets the status of the answer if that is not 200. */
type Read<Shown> = (request: FastifyRequest, reply: FastifyReply) => Awaitable<Shown | Redirect>;

/**
 * Carries out what a form asks for. Its result is what was done, which the page then confirms; what its answer shows in addition; another
 * page, as JSX; or where it leads.
 */
type Run<T, Shown> = (
  request: FastifyRequest,
  entries: T,
  reply: FastifyReply,
) => Promise<DoneWord | Partial<Shown> | VNode | Redirect>;

interface FormOptions {
  /** The errors that are shown in the form: those of validation, by default. */
  problemsIn?: typeof problemsOf;
  /** The scope that the route belongs to: that of the page, by default. */
  scope?: Api;
  /** True for a form without a place for problems, which the page then shows above its content. */
  isButton?: boolean;
}

/** A page, to which its forms are added. */
export interface Page<Shown> {
  /**
   * Adds a form. With problems, the page is shown again with them and the entries.
   * @param path where it is posted.
   */
  form: <T>(
    path: string,
    guard: Guard,
    schema: z.ZodType<T> | ((request: FastifyRequest) => Awaitable<z.ZodType<T>>),
    run: Run<T, Shown>,
    options?: FormOptions,
  ) => void;
  /** Adds a form without entries. */
  button: (path: string, guard: Guard, run: Run<unknown, Shown>, options?: FormOptions) => void;
}

/**
 * Adds a page.
 * @param path below the prefix of the scope.
 * @param guard who may open it.
 * @param read reads what it shows.
 * @param View shows that, and what the answer to a form shows in addition.
 */
export function page<Shown extends object>(
  scope: Api,
  path: string,
  guard: Guard,
  read: Read<NoInfer<Shown>>,
  View: (props: Shown) => VNode,
): Page<Shown> {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    more: Partial<Shown> = {},
  ): Promise<Answer> => {
    const shown = await read(request, reply);
    return shown instanceof Redirect
      ? follow(reply, shown)
      : h(View as FunctionComponent, { ...shown, ...more });
  };
  scope.get(path, needs(guard), (request, reply) => show(request, reply));
  const form: Page<Shown>['form'] = (to, who, schema, run, options = {}) =>
    formRoute(scope, to, who, {
      ...{ schema, ...options },
      again: show,
      async run(request, entries, reply) {
        const result = await run(request, entries as never, reply);
        if (typeof result === 'string') return follow(reply, leadTo(filled(path, request), result));
        if (result instanceof Redirect) return follow(reply, result);
        return isValidElement(result) ? result : await show(request, reply, result as Partial<Shown>);
      },
    });
  const button: Page<Shown>['button'] = (to, who, run, options) =>
    form(to, who, z.unknown(), run, { isButton: true, ...options });
  return { form, button };
}

type Answer = VNode | FastifyReply;
type Respond = (request: FastifyRequest, reply: FastifyReply) => Promise<Answer>;

interface FormRoute extends FormOptions {
  schema: z.ZodType | ((request: FastifyRequest) => Awaitable<z.ZodType>);
  run: (request: FastifyRequest, entries: unknown, reply: FastifyReply) => Promise<Answer>;
  again: Respond;
}

/** Adds a form that has no page of its own: one answers it, and another one, or the same, shows it again. */
export function formPage<T>(
  scope: Api,
  path: string,
  guard: Guard,
  schema: z.ZodType<T>,
  {
    run,
    again,
  }: {
    run: (request: FastifyRequest, entries: T) => Promise<VNode>;
    again: (request: FastifyRequest) => VNode;
  },
): void {
  formRoute(scope, path, guard, {
    schema,
    run: (request, entries) => run(request, entries as T),
    again: async (request) => again(request),
  });
}

/** The route of a form: reads it and carries it out, or shows its page again with the problems at their fields. */
function formRoute(scope: Api, path: string, guard: Guard, form: FormRoute): void {
  const { run, again, problemsIn = validationProblemsOf, isButton = false } = form;
  (form.scope ?? scope).post(path, needs(guard), async (request, reply) => {
    const refuse = async (problems: FormProblems) => {
      reply.code(400);
      request.submitted = { body: request.body, problems, isButton };
      return await again(request, reply);
    };
    const schema = typeof form.schema === 'function' ? await form.schema(request) : form.schema;
    const reading = readForm(schema, request.body);
    if (reading.kind === 'invalid') return await refuse(reading.problems);
    try {
      return await run(request, reading.value, reply);
    } catch (error) {
      // A part of a page has no place above its content.
      if (isButton && isForPart(request)) throw error;
      const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
      return await refuse(problemsIn(error, fields));
    }
  });
}

/** Leads a request to another page. */
export function follow(reply: FastifyReply, { to, word }: Redirect): FastifyReply {
  if (word !== null) leaveWord(reply, word);
  return reply.redirect(addressIn(reply.request, to), 303);
}

/** The path of a page with the parameters of a request. */
function filled(path: string, { params }: Pick<FastifyRequest, 'params'>): string {
  return path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent((params as Record<string, string>)[name] ?? ''),
  );
}
