import type { FastifyReply, FastifyRequest } from 'fastify';
import { confirmUser } from '#shared/people/sign-in/check-code.ts';
import { findSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink, Submit } from '../components/button.tsx';
import { CodeField, CsrfField, FormNotice, postedTo, TextField } from '../components/form.tsx';
import { visitorOf } from '../http/access.ts';
import { entered, type FormProblems, type FormState, problemsOf } from '../http/forms.ts';
import { companySignInPath, safeReturnPathOf } from '../http/paths.ts';
import { isForPart, useRequest } from '../http/render.ts';
import { openField, sealField } from '../http/sealed-field.ts';
import { Gate } from '../layout/document.tsx';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the user must have confirmed the session lately; every route that changes who may do what, or moves money, has it. A page
     * with such a form has it too where much is entered: a sign-in with a company's account keeps no form.
     */
    confirm?: true;
  }
}

/** How long a sign-in or a confirmation lasts. */
export const confirmedForMs = 10 * 60 * 1000;

const title = "Confirm that it's you";

/**
 * The largest form, as JSON, in bytes. It applies to confirmed sessions as well, so that a form is never refused only because
 * a confirmation is due.
 */
const maxFormBytes = 64 * 1024;

/** Holds the largest form, which encryption and base64 make a third longer, with an answer and the CSRF token. */
const heldFormLimitBytes = 96 * 1024;

/**
 * Asks for a code, or the password of a user without a second factor, before a form of a route with `confirm` is carried
 * out, unless the session was confirmed lately. The confirmation holds the form, so nothing has to be entered again.
 * Register it after the check of CSRF tokens and before the routes.
 */
export function requireConfirmation(scope: Api, deps: ApiDependencies): void {
  scope.addHook('onRoute', (route) => {
    if (route.config?.confirm === true) route.bodyLimit = heldFormLimitBytes;
  });
  scope.addHook('preHandler', async (request, reply) => {
    const { session, body } = request;
    const isConfirmed = isConfirmedLately(deps, request);
    if (request.routeOptions.config.confirm !== true) return;
    if (request.method === 'GET' && session.companyOf === undefined) return;
    const sealed = entered(body, 'held');
    if (sealed === '') {
      if (Buffer.byteLength(JSON.stringify(body ?? {})) > maxFormBytes) {
        throw new ServiceError(
          'payload_too_large',
          'The form exceeds 64 KiB, and nothing was changed. Shorten it and try again.',
        );
      }
      if (isConfirmed) return;
      return await ask(deps, request, reply, { body, problems: {} });
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
      return await ask(deps, request, reply, { body: held, problems });
    }
    session.confirmedAt = deps.clock.now().getTime();
  });
}

/** Whether the user has confirmed the session lately. For forms that are too large to be held. */
export function isConfirmedLately(
  { clock }: Pick<ApiDependencies, 'clock'>,
  { session }: FastifyRequest,
): boolean {
  return clock.now().getTime() < (session.confirmedAt ?? 0) + confirmedForMs;
}

/** The held form can be sent only by its session and to its own URL. */
function purposeOf({ session, url }: FastifyRequest): string {
  return `confirmation of ${url} in ${session.sessionId}`;
}

async function ask(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { body, problems }: FormState,
): Promise<FastifyReply> {
  const { headers, session } = request;
  const isPart = isForPart(request);
  const form = {
    problems,
    sealed: sealField(deps, body ?? {}, purposeOf(request)),
    hasSecondFactor: (await findSecondFactor(deps.db, visitorOf(request).user.id)) !== null,
    cancelTo: safeReturnPathOf(String(isPart ? headers['hx-current-url'] : headers.referer)),
  };
  const formIn = (id?: string) =>
    session.companyOf === undefined ? (
      <ConfirmationForm {...form} replaces={id} />
    ) : (
      <CompanyConfirmation companyOf={session.companyOf} cancelTo={form.cancelTo} />
    );
  reply.code(403);
  if (!isPart) return reply.send(<Gate title={title}>{formIn()}</Gate>);
  const [, id = 'main'] = /^[\w-]+#([\w-]+)$/.exec(String(headers['hx-target'])) ?? [];
  return reply.send(
    <section id={id} class="stack" aria-labelledby="confirmation-title">
      <h2 id="confirmation-title">{title}</h2>
      {formIn(id)}
    </section>,
  );
}

interface ConfirmationFormProps {
  sealed: string;
  problems: FormProblems;
  hasSecondFactor: boolean;
  cancelTo: string;
  /** The id of the part of the page that the answer replaces; by default it replaces the page. */
  replaces: string | undefined;
}

/** The held form is sent again to where it was sent. */
function ConfirmationForm({ sealed, problems, hasSecondFactor, cancelTo, replaces }: ConfirmationFormProps) {
  const form = { body: {}, problems };
  return (
    <form {...postedTo(useRequest().url, replaces)} class="card stack">
      <p>Confirm your identity to continue. Your entries are kept.</p>
      <FormNotice problems={problems} />
      {hasSecondFactor ? (
        <CodeField form={form} />
      ) : (
        <TextField
          form={form}
          name="current"
          label="Your password"
          type="password"
          autocomplete="current-password"
          required
        />
      )}
      <CsrfField />
      <input type="hidden" name="held" value={sealed} />
      <div class="row">
        <Submit kind="primary">Confirm</Submit>
        <ButtonLink to={cancelTo}>Cancel</ButtonLink>
      </div>
    </form>
  );
}

/** A form is not kept: the provider leads back to the page that it was on. */
function CompanyConfirmation({ companyOf, cancelTo }: { companyOf: string; cancelTo: string }) {
  const { method, url } = useRequest();
  const next = method === 'GET' ? url : cancelTo;
  const address = `${companySignInPath}/${companyOf}?confirm=yes&next=${encodeURIComponent(next)}`;
  return (
    <div class="card stack">
      <p>This action needs a recent sign-in with your company's account. Sign in again to continue.</p>
      <div class="row">
        <a class="button" href={address}>
          Sign in again
        </a>
        <ButtonLink to={cancelTo}>Cancel</ButtonLink>
      </div>
    </div>
  );
}
