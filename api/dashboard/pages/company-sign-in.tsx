import type { FastifyReply, FastifyRequest } from 'fastify';
import { readRole } from '#shared/access/roles.ts';
import {
  beginAuthorization,
  finishAuthorization,
  type PendingSignIn,
} from '#shared/people/company-sign-in/authorization.ts';
import { joinByCompany } from '#shared/people/company-sign-in/join.ts';
import { findProvider } from '#shared/people/company-sign-in/provider.ts';
import { auditRefusal, SignInRefusal } from '#shared/people/company-sign-in/refusal.ts';
import type { IdentityProvider } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { isId } from '#shared/platform/ids.ts';
import { admit, openPlaces } from '../../http/admission.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink } from '../components/button.tsx';
import { Notice } from '../components/notice.tsx';
import { entered } from '../http/forms.ts';
import {
  companySignInCallback,
  companySignInPath,
  dashboardPath,
  originOf,
  safeReturnPath,
} from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { openField, sealField } from '../http/sealed-field.ts';
import { beginSession, findVisitor } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';

const cookieName = 'refunds_company_sign_in';
const purpose = 'company sign-in';

/** `/dashboard/sign-in/company/<organization>`: leads to the organization's provider, which leads back to the callback. */
export async function companySignInPages(scope: Api, deps: ApiDependencies): Promise<void> {
  await limitAttempts(scope, (limited) => {
    // A provider that does not answer holds no place of other pages.
    const atProviders = openPlaces(Math.ceil(deps.settings.MAX_PAGES_IN_PROGRESS / 4));
    admit(limited, ({ params }) => {
      const { organizationId } = params as { organizationId: string };
      return { places: atProviders, owner: organizationId };
    });
    limited.get<{ Params: { organizationId: string } }>(
      `${companySignInPath}/:organizationId`,
      async (request, reply) =>
        await orRefusal(deps, request, reply, async () => {
          const provider = await requireProvider(deps, request.params.organizationId);
          const isSignedIn = await refuseNonMember(deps, request, reply, provider);
          if (!isSignedIn && !isFromHere(request)) {
            return reply.send(<Question issuer={provider.issuer} address={request.url} />);
          }
          const { address, pending } = await beginAuthorization(deps, provider, {
            redirectUri: new URL(companySignInCallback(provider.organizationId), originOf(request)).href,
            next: safeReturnPath(entered(request.query, 'next')),
            isConfirmation: entered(request.query, 'confirm') === 'yes',
          });
          // Lax, because the provider leads back from another site.
          const options = { path: companySignInPath, httpOnly: true, sameSite: 'lax', maxAge: 900 } as const;
          reply.setCookie(cookieName, sealField(deps, pending, purpose), options);
          return reply.redirect(address, 303);
        }),
    );
    limited.get<{ Params: { organizationId: string } }>(
      companySignInCallback(':organizationId'),
      async (request, reply) =>
        await orRefusal(deps, request, reply, async () => {
          reply.clearCookie(cookieName, { path: companySignInPath });
          return await finish(deps, request.params.organizationId, request, reply);
        }),
    );
  });
}

async function finish(
  deps: ApiDependencies,
  organizationId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const pending = openField<PendingSignIn>(deps, request.cookies[cookieName] ?? '', purpose);
  if (pending?.organizationId !== organizationId) {
    throw new ServiceError(
      'insufficient_scope',
      'This sign-in has expired, or was started in another browser. Start again.',
    );
  }
  const { issuer, clientId, isConfirmation, next } = pending;
  const provider = await requireProvider(deps, organizationId);
  if (provider.issuer !== issuer || provider.clientId !== clientId) throw notSetUp();
  await refuseNonMember(deps, request, reply, provider);
  const callback = new URL(request.url, originOf(request));
  const authorization = await finishAuthorization(deps, provider, { callback, pending });
  const proof = await joinByCompany(deps, { organizationId, issuer, ...authorization });
  const { isRecent } = authorization;
  const ownFactorSince = isConfirmation && !isRecent ? deps.clock.now().getTime() : undefined;
  await beginSession(deps, request, reply, proof, { isConfirmed: isRecent, ownFactorSince });
  return reply.redirect(next === dashboardPath ? `${dashboardPath}/${organizationId}/live` : next, 303);
}

async function requireProvider({ db }: ApiDependencies, organizationId: string): Promise<IdentityProvider> {
  const provider = isId('org', organizationId) ? await findProvider(db, organizationId) : null;
  if (provider === null) throw notSetUp();
  return provider;
}

/** Whether a link on a page of this service led here. Browsers say it by the first header, over http alone by the second. */
function isFromHere({ headers, host }: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, referer = '' } = headers;
  if (site !== undefined) return site === 'same-origin';
  return URL.canParse(referer) && new URL(referer).host === host;
}

/** A link on another site must not sign anyone in: the provider may sign in an account of the person who made the link. */
function Question({ issuer, address }: { issuer: string; address: string }) {
  return (
    <Gate title="Sign in with your company's account">
      <p>You continue at {new URL(issuer).host}. If you did not expect this, close the page.</p>
      <ButtonLink kind="primary" to={address}>
        Continue
      </ButtonLink>
      <ButtonLink to={`${dashboardPath}/sign-in`}>Sign in with a password</ButtonLink>
    </Gate>
  );
}

/**
 * Keeps a session from being replaced by one in another organization. A link on another site may lead here, and the provider signs in
 * whom it likes.
 * @returns whether someone is signed in.
 * @throws ServiceError insufficient_scope for a signed-in user who is no member of the organization.
 */
async function refuseNonMember(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { organizationId }: IdentityProvider,
): Promise<boolean> {
  const visitor = await findVisitor(deps, request, reply);
  if (visitor === null) return false;
  if (request.session.companyOf === organizationId) return true;
  const { id, email } = visitor.user;
  if ((await readRole(deps.db, organizationId, id)) !== null) return true;
  const message = `You are signed in as ${email}, who is not a member of this organization. Sign out, then open the link again.`;
  throw new ServiceError('insufficient_scope', message);
}

/** The same for an unknown organization. */
function notSetUp(): ServiceError {
  return new ServiceError(
    'not_found',
    'This link is not set up for company accounts. Ask the administrator of your organization.',
  );
}

async function orRefusal(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  run: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { organizationId } = request.params as { organizationId: string };
    // Not the message, which may have an address.
    const facts: object = error instanceof SignInRefusal ? { cause: error.cause, answer: error.answer } : {};
    request.log.warn({ code: error.code, organizationId, ...facts }, 'company sign-in refused');
    if (error instanceof SignInRefusal) await auditRefusal(deps, organizationId, error);
    return reply.code(error.status).send(
      <Gate title="Sign in with your company's account">
        <Notice tone="bad">{error.message}</Notice>
        <ButtonLink to={`${dashboardPath}/sign-in`}>Back to sign-in</ButtonLink>
      </Gate>,
    );
  }
}
