import type { FastifyRequest } from 'fastify';
import { ServiceError } from '#shared/platform/errors.ts';
import { type IdPrefix, isId } from '#shared/platform/ids.ts';

/** The prefix of all pages; the session cookie is limited to it. */
export const dashboardPath = '/dashboard';

/** The page of the user: password, second factor, sessions, and signing out. */
export const accountPath = `${dashboardPath}/you`;

/** Followed by the id of the organization whose provider signs in. */
export const companySignInPath = `${dashboardPath}/sign-in/company`;

export const passwordResetPath = `${dashboardPath}/password-reset`;

/**
 * Where the provider of an organization leads back to. Each has its own, so that the provider of one organization cannot get a code of
 * another one's: a code is asked for with the address of the provider that issued it (RFC 9700, section 4.4.2.2).
 */
export const companySignInCallback = (organizationId: string) =>
  `${companySignInPath}/${organizationId}/callback`;

export const queueBoardPath = `${dashboardPath}/queues`;

/** The processor accounts, below the environment; followed by the id of one. */
export const accountsPath = '/settings/accounts';

/** Below the environment. */
export const receivedEventsPath = '/processor-events';

/**
 * The scheme and host of a request, for links and examples.
 * @throws ServiceError validation_error for a malformed Host header.
 */
export function originOf({ protocol, host }: FastifyRequest): string {
  const origin = `${protocol}://${host}`;
  if (!URL.canParse(origin)) throw new ServiceError('validation_error', 'host: must be a valid host.');
  return origin;
}

/** The error for an address without a page. */
export function pageNotFound(): ServiceError {
  return new ServiceError('not_found', 'Page not found.');
}

/**
 * Reads an id from a parameter of the path, before the database sees it.
 * @throws ServiceError not_found for a malformed one.
 */
export function idInPath({ params }: Pick<FastifyRequest, 'params'>, name: string, prefix: IdPrefix): string {
  const id = (params as Record<string, string>)[name] ?? '';
  if (isId(prefix, id)) return id;
  throw pageNotFound();
}

/** An address with the parameters that are given and not empty. Those with several values are repeated. */
export function withQuery(address: string, parameters: object): string {
  const given = Object.entries(parameters).flatMap(([name, values]) =>
    [values ?? []].flat().flatMap((value): [string, string][] => (value === '' ? [] : [[name, value]])),
  );
  return given.length === 0 ? address : `${address}?${new URLSearchParams(given)}`;
}

/** A placeholder for our own host: an address that resolves to another host is foreign. */
const thisHost = 'http://dashboard.invalid';

/**
 * Where to go after signing in: the requested path and query if it is a page of the dashboard, else `/dashboard`. The
 * address may come from an attacker's link, so anything that a browser could take for another host is rejected.
 */
export function safeReturnPath(requested: string | undefined): string {
  // Browsers read a backslash as a slash, and drop tabs and line breaks.
  if (requested === undefined || !requested.startsWith('/') || /[\\\p{Cc}]/u.test(requested)) {
    return dashboardPath;
  }
  if (!URL.canParse(requested, thisHost)) return dashboardPath;
  const { origin, pathname, search } = new URL(requested, thisHost);
  const isOwn = pathname === dashboardPath || pathname.startsWith(`${dashboardPath}/`);
  const isSignIn = pathname.startsWith(`${dashboardPath}/sign-`);
  if (origin !== thisHost || !isOwn || isSignIn || pathname.includes('//')) return dashboardPath;
  return `${pathname}${search}`;
}

/** The same for a whole address, such as the page that htmx reports. */
export function safeReturnPathOf(address: string | undefined): string {
  if (address === undefined || !URL.canParse(address)) return dashboardPath;
  const { pathname, search } = new URL(address);
  return safeReturnPath(`${pathname}${search}`);
}
