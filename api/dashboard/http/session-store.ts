import type { SessionStore } from '@fastify/session';
import type { Session } from 'fastify';
import type { Dependencies } from '../../../shared/dependencies.ts';
import { loadSession, type Proof, startSession, updateSession } from '../../../shared/people/sessions.ts';

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

/** Where the session library keeps sessions: in the database, each under the hash of its id. */
export function databaseStore(deps: Dependencies): SessionStore {
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
