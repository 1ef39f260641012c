import { isDeepStrictEqual } from 'node:util';
import { errorSchema } from '#api/http/route.ts';
import { errorCatalogue } from '#shared/platform/errors.ts';
import type { ServedDocument } from '../http/openapi-document.ts';
import type { StormAnswer, StormTarget } from './storm.ts';
import type { StormRequest } from './storm-requests.ts';

/**
 * Holds answers of the API against the OpenAPI document: it is no fault of the service, and has the shape that the document
 * declares for its status. A processor's refusal (502 `processor_error`) is an answer like others.
 */
export function checkDeclared(served: ServedDocument): StormTarget['check'] {
  const answers = answersOf(served);
  return (request, answer) => checkAnswer(request, answer, answers);
}

/** Holds an answer that no document declares against the promise: it is no fault of the service. */
export function checkUndeclared({ method }: StormRequest, answer: StormAnswer): string {
  const { status, headers, text } = answer;
  demandRequestId(answer);
  demand(status < 500, 'A fault of the service.');
  demand(method !== 'HEAD' || text === '', 'HEAD is answered with a body.');
  const isSignIn = String(headers.location ?? headers['hx-redirect']).startsWith('/dashboard/sign-in');
  return isSignIn ? `${status} sign-in` : String(status);
}

/**
 * The same for messages to the tools for agents, which report a fault within a success: of a tool, or of the protocol. The
 * protocol's library also calls it an internal error when a message has invalid fields, and then lists them.
 */
export function checkMessage(request: StormRequest, answer: StormAnswer): string {
  const isFault = /"code":("internal_error"|-32603,"message":"(?!\[))/.test(answer.text);
  demand(!isFault, 'A fault of the service within a success.');
  return checkUndeclared(request, answer);
}

/** Whether an outcome is a request that was carried out. */
export function isAccepted(outcome: string): boolean {
  return /^[23]\d\d$|^502 processor_error$/.test(outcome);
}

/** What may be answered: for every operation and status a check of the body. */
type DeclaredAnswers = (
  method: string,
  target: string,
) => ReadonlyMap<number, (body: unknown) => void> | null;

function answersOf(served: ServedDocument): DeclaredAnswers {
  const known = served.operations.map(({ method, path, operation }) => ({
    method: method.toUpperCase(),
    segments: path.split('/'),
    answers: new Map(
      Object.entries<{ content?: { 'application/json': { schema: unknown } } }>(operation.responses).map(
        ([status, { content }]) => {
          if (content === undefined)
            throw new Error(`${method} ${path} does not say what ${status} looks like.`);
          const schema = served.schemaOf(content['application/json'].schema);
          const check = (body: unknown) =>
            demand(isDeepStrictEqual(schema.parse(body), body), 'The body has more than is declared.');
          return [Number(status), check] as const;
        },
      ),
    ),
  }));
  return (method, target) => {
    // A target may name the server as well; routes are chosen by the path.
    const path = target.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/)[0] ?? '';
    // A trailing slash is the same route.
    const segments = path.replace(/(.)\/$/, '$1').split('/');
    const found = known.find(
      (one) =>
        one.method === (method === 'HEAD' ? 'GET' : method) &&
        one.segments.length === segments.length &&
        one.segments.every(
          (segment, at) => segment.startsWith('{') || segment === decoded(segments[at] ?? ''),
        ),
    );
    return found?.answers ?? null;
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function demandRequestId({ headers }: StormAnswer): void {
  demand(/^req_[a-z0-9]{26}$/.test(String(headers['x-request-id'])), 'The answer has no request id.');
}

/** Vitest's own expectations take longer than the requests do. */
function demand(holds: boolean, complaint: string): void {
  if (!holds) throw new Error(complaint);
}

/** Refusals that come before a route is chosen, so that no operation declares them. */
const beforeRouting: ReadonlySet<string> = new Set([
  '400 validation_error',
  '404 not_found',
  '405 method_not_allowed',
]);

/** @returns the status, with the code where there is one. */
function checkAnswer(
  { method, target }: StormRequest,
  answer: StormAnswer,
  answers: DeclaredAnswers,
): string {
  const { status, headers, text } = answer;
  demandRequestId(answer);
  if (method === 'HEAD') {
    demand(text === '' && status < 500, 'HEAD is answered with a fault or a body.');
    return String(status);
  }
  demand(/^application\/json/.test(String(headers['content-type'])), 'The answer is no JSON.');
  const body: unknown = JSON.parse(text);
  const outcome = status < 400 ? String(status) : `${status} ${codeOf(status, body)}`;
  demand(status < 500 || outcome === '502 processor_error', 'A fault of the service.');
  const declared = answers(method, target)?.get(status);
  if (declared !== undefined) declared(body);
  else demand(beforeRouting.has(outcome), `${outcome} is not declared.`);
  return outcome;
}

function codeOf(status: number, body: unknown): string {
  const { error } = errorShape.parse(body);
  demand(/\S/.test(error.message), 'The message is empty.');
  demand(errorCatalogue[error.code].status === status, `${error.code} does not have this status.`);
  return error.code;
}

/** With nothing beside what errors have. */
const errorShape = errorSchema.strict();
