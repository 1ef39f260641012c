import { hkdfSync } from 'node:crypto';
import cookie from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import session, { type SessionStore } from '@fastify/session';
import type { FastifyInstance, FastifyReply, FastifyRequest, Session } from 'fastify';
import type { Dependencies } from '../../shared/dependencies.ts';
import { knownBrowserMs, knownBrowserToken } from '../../shared/people/known-browser.ts';
import { signOut } from '../../shared/people/own-sessions.ts';
import {
  loadSession,
  noteUse,
  type Proof,
  sessionLifeMs,
  startSession,
  updateSession,
} from '../../shared/people/sessions.ts';
import { entered } from './forms.ts';
import { dashboardPath } from './paths.ts';

/** Somebody who is signed in. */
export interface Visitor {
  user: { id: string; email: string };
  /** For the forms of the page. */
  csrfToken: string;
}

declare module 'fastify' {
  interface Session {
    /** Who signed in; nobody before that. */
    userId?: string;
    userAgent?: string;
    ip?: string;
    /** The name of the stored session; none before it is stored. */
    storedId?: string;
    /** What lets it begin as somebody's; gone when it has begun, and never stored. */
    beginning?: { proof: Proof };
  }
}

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
  await scope.register(csrf, {
    sessionPlugin: '@fastify/session',
    getToken: ({ body, headers }) => {
      const header = headers['x-csrf-token'];
      return typeof header === 'string' ? header : entered(body, '_csrf');
    },
  });
}

/** A page that is left open asks for its parts by itself; that must not keep somebody signed in who is long gone. */
function refreshesPart({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers['hx-request'] === 'true';
}

/** A key of its own, so that what signs cookies opens nothing else. */
function cookieSecret(encryptionKey: string): string {
  const key = hkdfSync('sha256', Buffer.from(encryptionKey, 'base64'), '', 'dashboard session cookies', 32);
  return Buffer.from(key).toString('base64');
}

function databaseStore(deps: Dependencies): SessionStore {
  return {
    set: (sid, kept, done) => {
      store(deps, sid, kept).then(() => done(), done);
    },
    get: (sid, done) => {
      restore(deps, sid).then((session) => done(null, session), done);
    },
    // What ends a session writes it down; the library only forgets it.
    destroy: (_sid, done) => done(),
  };
}

/** The cookie's attributes are not stored: the library would end a session by the date in them and this machine's clock. */
async function store(deps: Dependencies, sid: string, kept: Session): Promise<void> {
  const { storedId, userId, userAgent = null, ip = null, beginning, cookie: _, ...rest } = kept;
  const data = JSON.parse(JSON.stringify(rest));
  if (storedId !== undefined && userId !== undefined) {
    await updateSession(deps, { sid, id: storedId, userId, data });
    return;
  }
  if (beginning === undefined) throw new TypeError('A session begins with what somebody has shown');
  kept.storedId = await startSession(deps, { sid, ...beginning, data, userAgent, ip });
  delete kept.beginning;
}

/** The library makes up the attributes of the cookie anew; whether the session is over, the database has decided. */
async function restore(deps: Dependencies, sid: string): Promise<Session | null> {
  const found = await loadSession(deps, sid);
  if (found === null) return null;
  const { id, userId, data } = found;
  const { cookie: _, ...kept } = data as unknown as Session;
  return { ...kept, storedId: id, userId } as Session;
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
  reply.setCookie(knownBrowserCookie, knownBrowserToken(deps, proof), {
    path: dashboardPath,
    httpOnly: true,
    sameSite: 'strict',
    secure: request.protocol === 'https',
    maxAge: knownBrowserMs / 1000,
  });
}

const knownBrowserCookie = 'refunds_known_browser';

/** By what a browser shows that somebody has signed in with it before; it stays there at sign-out. */
export function shownBrowser({ cookies }: FastifyRequest): string | undefined {
  return cookies[knownBrowserCookie];
}

/** Who is signed in; null for everybody else. */
export async function signedIn(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Visitor | null> {
  const { userId } = request.session;
  const user = userId === undefined ? null : await findUser(deps, userId);
  return user === null ? null : { user, csrfToken: reply.generateCsrf() };
}

async function findUser({ db }: Dependencies, id: string): Promise<Visitor['user'] | null> {
  return await db.user.findUnique({ where: { id }, select: { id: true, email: true } });
}

/** Refuses what was not sent from a form of the session's own pages. */
export function requireCsrfToken(scope: FastifyInstance): void {
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') done();
    else scope.csrfProtection(request, reply, done);
  });
}

/** True for the refusal of a form that brought no token of its session. */
export function isCsrfRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_CSRF_');
}
