import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '../../../shared/dependencies.ts';
import { knownBrowserMs, withPerson } from '../../../shared/people/known-browser.ts';
import type { Proof } from '../../../shared/people/sessions.ts';
import { dashboardPath } from './paths.ts';

const name = 'refunds_known_browser';

/** By what a browser shows who has signed in with it before; it stays there at sign-out. */
export function shownBrowser({ cookies }: FastifyRequest): string | undefined {
  return cookies[name];
}

/** Has the browser keep that this person has signed in with it, besides those who did so before. */
export function rememberBrowser(
  deps: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): void {
  reply.setCookie(name, withPerson(deps, shownBrowser(request) ?? '', proof), {
    path: dashboardPath,
    httpOnly: true,
    sameSite: 'strict',
    secure: request.protocol === 'https',
    maxAge: knownBrowserMs / 1000,
  });
}
