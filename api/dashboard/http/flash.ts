import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DoneWord, doneMessages } from '../words/done.ts';
import { dashboardPath } from './paths.ts';

const cookieName = 'refunds_done';
const cookieOptions = { path: dashboardPath, httpOnly: true, sameSite: 'strict' } as const;

/** Long enough for a redirect. */
const lifeSeconds = 60;

/** Error pages are also sent where no cookies were read. */
type ReadCookies = Partial<Pick<FastifyRequest, 'cookies'>>;

/** Leaves a word for the next whole page that this browser is shown. */
export function leaveWord(reply: FastifyReply, word: DoneWord): void {
  reply.setCookie(cookieName, word, { ...cookieOptions, maxAge: lifeSeconds });
}

/** The word that was left for the page; null for none, or for one that no page knows. */
export function wordLeft({ cookies }: ReadCookies): DoneWord | null {
  const word = cookies?.[cookieName] ?? '';
  return Object.hasOwn(doneMessages, word) ? (word as DoneWord) : null;
}

/** Forgets the word, which a page has shown. */
export function forgetWord(reply: FastifyReply): void {
  const { cookies }: ReadCookies = reply.request;
  if (cookies?.[cookieName] !== undefined) reply.clearCookie(cookieName, cookieOptions);
}
