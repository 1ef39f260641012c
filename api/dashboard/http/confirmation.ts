import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FunctionComponent, h } from 'preact';
import { confirmUser } from '#shared/people/sign-in/check-code.ts';
import { findSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { visitorOf } from './access.ts';
import { entered, type FormProblems, type FormState, problemsOf } from './forms.ts';
import { safeReturnPathOf } from './paths.ts';
import { isForPart } from './render.ts';
import { openField, sealField } from './sealed-field.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the user must have confirmed the session lately; every route that changes who may do what, or moves money, has it. A page
     * with such a form has it too where much is entered: a sign-in with a company's account keeps no form.
     */
    confirm?: true;
    /** Whether it sets up a second factor: with `confirm`, a first one may be what confirms the session from then on. */
    enrols?: true;
    /** With `confirm`, the largest form, as JSON, if that is another one than usual. */
    formLimitBytes?: number;
    /** With `confirm`, whether a confirmation within the hour is enough where the organization says so. */
    isRoutine?: (request: FastifyRequest) => Promise<boolean>;
  }
}

/** How long a sign-in or a confirmation lasts. */
export const confirmedForMs = 10 * 60 * 1000;

/** The same for what is routine. */
const routineForMs = 60 * 60 * 1000;

/**
 * The largest form, as JSON, in bytes. It applies to confirmed sessions as well, so that a form is never refused only because
 * a confirmation is due.
 */
const usualLimitBytes = 64 * 1024;

/** Holds the largest form, which encryption and base64 make a third longer, with an answer and the CSRF token. */
const heldLimitBytes = (formLimitBytes: number) => 1.5 * formLimitBytes;

/**
 * Asks for a code, or the password of a user without a second factor, before a form of a route with `confirm` is carried
 * out, unless the session was confirmed lately. The confirmation holds the form, so nothing has to be entered again. A session by a
 * company's provider is confirmed there, or with the user's own second factor when the provider does not say when someone signed in.
 * Register it after the check of CSRF tokens and before the routes.
 * @param Ask the page, or the part of one, that asks.
 */
export function requireConfirmation(
  scope: Api,
  deps: ApiDependencies,
  Ask: FunctionComponent<AskProps>,
): void {
  const ask = (request: FastifyRequest, reply: FastifyReply, way: Way, { body, problems }: FormState) => {
    reply.code(403);
    return reply.send(h(Ask, { ...questionFor(deps, request, body), way, problems }));
  };
  scope.addHook('onRoute', (route) => {
    const { confirm, formLimitBytes = usualLimitBytes } = route.config ?? {};
    if (confirm === true) route.bodyLimit = heldLimitBytes(formLimitBytes);
  });
  scope.addHook('preHandler', async (request, reply) => {
    const { session, body } = request;
    const isConfirmed = isConfirmedLately(deps, request);
    const { confirm, formLimitBytes = usualLimitBytes } = request.routeOptions.config;
    if (confirm !== true) return;
    if (request.method === 'GET' && session.companyOf === undefined) return;
    if (!isConfirmed && (await isRoutineThisHour(deps, request))) return;
    const way = await wayToConfirm(deps, request);
    if (request.method === 'GET' && way === 'code') return;
    const sealed = entered(body, 'held');
    if (sealed === '') {
      if (Buffer.byteLength(JSON.stringify(body ?? {})) > formLimitBytes) {
        throw new ServiceError(
          'payload_too_large',
          `The form exceeds ${formLimitBytes / 1024} KiB, and nothing was changed. Shorten it and try again.`,
        );
      }
      if (isConfirmed || (way === 'set-up' && request.routeOptions.config.enrols === true)) return;
      return ask(request, reply, way, { body, problems: {} });
    }
    const held = openField<object>(deps, sealed, purposeOf(request));
    if (held === null) {
      throw new ServiceError('insufficient_scope', 'This form has expired. Reload the page and try again.');
    }
    request.body = held;
    // Another tab may have confirmed the session since the form was held.
    if (isConfirmed) return;
    const answer = { code: entered(body, 'code'), password: entered(body, 'current') };
    try {
      await confirmUser({ ...deps, log: request.log }, { userId: visitorOf(request).user.id, ...answer });
    } catch (error) {
      const problems = problemsOf(error, ['code', 'current']);
      return ask(request, reply, way, { body: held, problems });
    }
    session.confirmedAt = deps.clock.now().getTime();
  });
}

function isConfirmedLately({ clock }: Pick<ApiDependencies, 'clock'>, { session }: FastifyRequest): boolean {
  return clock.now().getTime() < (session.confirmedAt ?? 0) + confirmedForMs;
}

/** Whether a request is routine in its organization, and the session was confirmed within the hour. Not asked of a held form. */
async function isRoutineThisHour({ clock }: ApiDependencies, request: FastifyRequest): Promise<boolean> {
  const { isRoutine } = request.routeOptions.config;
  const { session, member, body } = request;
  if (isRoutine === undefined || member?.organization.confirmsHourly !== true) return false;
  if (entered(body, 'held') !== '') return false;
  const isRecent = clock.now().getTime() < (session.confirmedAt ?? 0) + routineForMs;
  return isRecent && (await isRoutine(request));
}

/** What confirms a session: a code, the password, the company's provider, or a second factor that is still to be set up. */
type Way = 'code' | 'password' | 'provider' | 'set-up';

async function wayToConfirm(deps: ApiDependencies, request: FastifyRequest): Promise<Way> {
  const { companyOf, ownFactorSince } = request.session;
  if (companyOf !== undefined && ownFactorSince === undefined) return 'provider';
  if ((await findSecondFactor(deps.db, visitorOf(request).user.id)) !== null) return 'code';
  if (ownFactorSince === undefined) return 'password';
  return deps.clock.now().getTime() < ownFactorSince + confirmedForMs ? 'set-up' : 'provider';
}

/** The held form can be sent only by its session and to its own URL. */
function purposeOf({ session, url }: FastifyRequest): string {
  return `confirmation of ${url} in ${session.sessionId}`;
}

/** What is asked, and of whom. */
export interface AskProps {
  /** The held form, which is sent again with the answer. */
  sealed: string;
  way: Way;
  /** The page to return to without a confirmation. */
  cancelTo: string;
  problems: FormProblems;
}

function questionFor(deps: ApiDependencies, request: FastifyRequest, body: unknown) {
  const { headers } = request;
  return {
    sealed: sealField(deps, body ?? {}, purposeOf(request)),
    cancelTo: safeReturnPathOf(String(isForPart(request) ? headers['hx-current-url'] : headers.referer)),
  };
}
