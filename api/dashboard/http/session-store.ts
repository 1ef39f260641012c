import type { SessionStore } from '@fastify/session';
import type { Session } from 'fastify';
import type { Dependencies } from '#shared/dependencies.ts';
import { loadSession, type Proof, startSession, updateSession } from '#shared/people/sign-in/sessions.ts';
import type { Prisma } from '#shared/platform/database.ts';

declare module 'fastify' {
  interface Session {
    /** The organization whose provider signed the user in. */
    companyOf?: string;
    /** When the user last showed who they are, in milliseconds since 1970. */
    confirmedAt?: number;
    /**
     * When the provider of `companyOf` was asked for a new sign-in and did not say when the user signed in, in milliseconds since 1970:
     * the user's own second factor confirms this session.
     */
    ownFactorSince?: number;
    /** The signed-in user; unset before sign-in. */
    userId?: string;
    userAgent?: string;
    ip?: string;
    /** The id of the stored session; unset before it is stored. */
    storedId?: string;
    /** Set while a session starts; never stored. */
    beginning?: { proof: Proof };
  }
}

/** The store of the session library: sessions in the database, each under the hash of its id. */
export function databaseStore(deps: Dependencies): SessionStore {
  return {
    set: (sid, kept, done) => {
      store(deps, sid, kept).then(() => done(), done);
    },
    get: (sid, done) => {
      restore(deps, sid).then((session) => done(null, session), done);
    },
    // `signOut` and `revokeSession` end and audit a session; the library only forgets it.
    destroy: (_sid, done) => done(),
  };
}

/** Leaves out the cookie's attributes: the library would end a session by their date and this machine's clock. */
async function store(deps: Dependencies, sid: string, kept: Session): Promise<void> {
  const { storedId, userId, userAgent = null, ip = null, beginning, cookie: _, ...rest } = kept;
  const data = { ...rest } as unknown as Prisma.InputJsonObject;
  if (storedId !== undefined && userId !== undefined) {
    await updateSession(deps, { sid, id: storedId, userId, data });
    return;
  }
  if (beginning === undefined) throw new TypeError('A session starts with a proof');
  kept.storedId = await startSession(deps, { sid, ...beginning, data, userAgent, ip });
  delete kept.beginning;
}

async function restore(deps: Dependencies, sid: string): Promise<Session | null> {
  const found = await loadSession(deps, sid);
  if (found === null) return null;
  const { id, userId, data } = found;
  const { cookie: _, ...kept } = data as unknown as Session;
  return { ...kept, storedId: id, userId } as Session;
}
