import { hkdfSync } from 'node:crypto';
import cookie from '@fastify/cookie';
import session from '@fastify/session';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '#shared/dependencies.ts';
import { knownBrowserCookie, knownBrowserMs } from '#shared/people/sign-in/known-browsers.ts';
import { extendSession, type Proof, sessionLifeMs, signOut } from '#shared/people/sign-in/sessions.ts';
import type { User } from '#shared/platform/database.ts';
import { encryptionKeys } from '#shared/platform/secrets/secrets.ts';
import { dashboardPath, queueBoardPath } from './paths.ts';
import { secureCookies } from './secure-cookies.ts';
import { databaseStore } from './session-store.ts';

/** A signed-in user. */
export interface Visitor {
  user: Pick<User, 'id' | 'email' | 'singleKeys'>;
  /** For the forms of the page. */
  csrfToken: string;
}

/**
 * Adds sessions to this scope: a random id in a cookie that scripts cannot read, everything else in the database. There
 * is no session before sign-in.
 */
export async function enableSessions(scope: FastifyInstance, deps: Dependencies): Promise<void> {
  await scope.register(cookie);
  secureCookies(scope, deps.settings);
  await scope.register(session, {
    secret: encryptionKeys(deps.settings).map(cookieSecret),
    cookieName: 'refunds_session',
    cookie: {
      path: dashboardPath,
      httpOnly: true,
      sameSite: 'lax',
      // The library does not store a session that is Secure while TLS ends at a proxy which is not trusted.
      secure: 'auto',
      maxAge: sessionLifeMs,
    },
    saveUninitialized: false,
    rolling: false,
    store: databaseStore(deps),
  });
  scope.addHook('onRequest', async (request) => {
    const { storedId } = request.session;
    if (storedId !== undefined && !isAutomaticUpdate(request)) await extendSession(deps, storedId);
  });
}

/** Open pages update themselves; that must not keep an absent user signed in. */
function isAutomaticUpdate({ method, headers, url }: FastifyRequest): boolean {
  if (method !== 'GET') return false;
  return headers['hx-request'] === 'true' || url.startsWith(`${queueBoardPath}/api/`);
}

/** A separate key, so that the key that signs cookies decrypts nothing. */
function cookieSecret(encryptionKey: string): string {
  const key = hkdfSync('sha256', Buffer.from(encryptionKey, 'base64'), '', 'dashboard session cookies', 32);
  return Buffer.from(key).toString('base64');
}

/** The signed-in user of a request, or null. */
export async function findVisitor(
  { db }: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Visitor | null> {
  const { userId } = request.session;
  if (userId === undefined) return null;
  const select = { id: true, email: true, singleKeys: true };
  const user = await db.user.findUnique({ where: { id: userId }, select });
  return user === null ? null : { user, csrfToken: reply.generateCsrf() };
}

const userFields = [
  ...(['userId', 'companyOf', 'ownFactorSince', 'beginning', 'userAgent', 'ip', 'confirmedAt'] as const),
];

/** How a session begins. */
interface Beginning {
  /** Whether the user has just shown who they are. */
  isConfirmed: boolean;
  /** As in the session. */
  ownFactorSince?: number | undefined;
}

/**
 * Starts a session under a new id, and ends the one that the browser had before.
 * @throws ServiceError validation_error when the password has changed since it was checked; the browser then has no session.
 */
export async function beginSession(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
  { isConfirmed, ownFactorSince }: Beginning = { isConfirmed: true },
): Promise<void> {
  const { userId, sessionId: sid } = request.session;
  if (userId !== undefined) await signOut(deps, { userId, sid });
  const { 'user-agent': userAgent = 'Unknown browser' } = request.headers;
  const confirmedAt = isConfirmed ? deps.clock.now().getTime() : 0;
  const { userId: provenId, companyOf } = proof;
  const shown = { userId: provenId, companyOf, ownFactorSince, beginning: { proof }, confirmedAt };
  Object.assign(request.session, { ...shown, userAgent, ip: request.ip });
  try {
    // A new id prevents session fixation.
    await request.session.regenerate([...userFields]);
  } catch (error) {
    // Without them the library does not store the session.
    for (const field of userFields) delete request.session[field];
    throw error;
  }
  reply.generateCsrf();
  reply.setCookie(knownBrowserName, knownBrowserCookie(deps, proof, knownBrowserOf(request)), {
    path: dashboardPath,
    httpOnly: true,
    sameSite: 'strict',
    maxAge: knownBrowserMs / 1000,
  });
}

/**
 * Starts the session that replaces the visitor's own after a change of their credentials. One by a company's provider stays one, and opens
 * no more than before.
 */
export async function renewSession(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<void> {
  const { companyOf, ownFactorSince } = request.session;
  const continued = companyOf === undefined ? proof : { ...proof, companyOf };
  await beginSession(deps, request, reply, continued, { isConfirmed: true, ownFactorSince });
}

/** Remembers the last users who signed in with this browser, also after signing out. */
const knownBrowserName = 'refunds_known_browser';

/** The known-browser cookie of a request. */
export function knownBrowserOf({ cookies }: FastifyRequest): string | undefined {
  return cookies[knownBrowserName];
}
