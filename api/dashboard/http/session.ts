import { hkdfSync } from 'node:crypto';
import cookie from '@fastify/cookie';
import session from '@fastify/session';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '../../../shared/dependencies.ts';
import { signOut } from '../../../shared/people/own-sessions.ts';
import { noteUse, type Proof, sessionLifeMs } from '../../../shared/people/sessions.ts';
import { rememberBrowser } from './known-browser-cookie.ts';
import { dashboardPath, queueBoardPath } from './paths.ts';
import { databaseStore } from './session-store.ts';

/**
 * Keeps sessions on this instance: an unguessable id in a cookie that no script can read, and everything else in the
 * database, where a session ends for good. Nobody gets one before signing in.
 */
export async function keepSessions(scope: FastifyInstance, deps: Dependencies): Promise<void> {
  await scope.register(cookie);
  await scope.register(session, {
    secret: cookieSecret(deps.settings.ENCRYPTION_KEY),
    cookieName: 'refunds_session',
    cookie: {
      path: dashboardPath,
      httpOnly: true,
      sameSite: 'lax',
      // With TLS, which may end at a trusted proxy.
      secure: 'auto',
      // The database ends it sooner when it is not used.
      maxAge: sessionLifeMs,
    },
    saveUninitialized: false,
    rolling: false,
    store: databaseStore(deps),
  });
  scope.addHook('onRequest', async (request) => {
    const { storedId } = request.session;
    if (storedId !== undefined && !refreshesPart(request)) await noteUse(deps, storedId);
  });
}

/** A page that is left open asks for its parts by itself; that must not keep somebody signed in who is long gone. */
function refreshesPart({ method, headers, url }: FastifyRequest): boolean {
  if (method !== 'GET') return false;
  return headers['hx-request'] === 'true' || url.startsWith(`${queueBoardPath}/api/`);
}

/** A key of its own, so that what signs cookies opens nothing else. */
function cookieSecret(encryptionKey: string): string {
  const key = hkdfSync('sha256', Buffer.from(encryptionKey, 'base64'), '', 'dashboard session cookies', 32);
  return Buffer.from(key).toString('base64');
}

/**
 * Signs somebody in who has shown who they are. Whoever was signed in on the browser before is signed out.
 * @throws ServiceError validation_error when the password was changed since it was shown; then nobody is signed in.
 */
export async function beginSession(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<void> {
  const { userId, sessionId: sid } = request.session;
  if (userId !== undefined) await signOut(deps, { userId, sid });
  const { 'user-agent': userAgent = 'An unknown browser' } = request.headers;
  Object.assign(request.session, { userId: proof.userId, beginning: { proof }, userAgent, ip: request.ip });
  try {
    // Under another id, so that nobody who knew the one before knows this one.
    await request.session.regenerate([...toldOfPerson]);
  } catch (error) {
    // What is left is nobody's, and is stored no more than that of any stranger.
    for (const each of toldOfPerson) delete request.session[each];
    throw error;
  }
  welcome(deps, request, reply, proof);
}

const toldOfPerson = ['userId', 'beginning', 'userAgent', 'ip'] as const;

/**
 * Gives the session another id together with what `change` stores, so that a copy of the cookie opens nothing any more.
 * @param change stores the session under the next id, or throws; then the browser keeps the session that it has.
 */
export async function renewSession(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  change: (ids: { sid: string; nextSid: string }) => Promise<Proof>,
): Promise<void> {
  const before = request.session;
  try {
    // The library has the next id stored at once; there is no such session yet, so that changes nothing.
    await before.regenerate(['userId', 'storedId']);
    const ids = { sid: before.sessionId, nextSid: request.session.sessionId };
    welcome(deps, request, reply, await change(ids));
  } catch (error) {
    request.session = before;
    throw error;
  }
}

/** Gives the browser what it needs with a new id: a token for forms, and by what it is known later. */
function welcome(deps: Dependencies, request: FastifyRequest, reply: FastifyReply, proof: Proof): void {
  reply.generateCsrf();
  rememberBrowser(deps, request, reply, proof);
}
