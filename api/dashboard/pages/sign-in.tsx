import { z } from 'zod';
import { needsFirstOwner } from '../../../shared/people/first-owner.ts';
import { signOut } from '../../../shared/people/own-sessions.ts';
import { signIn } from '../../../shared/people/sign-in.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { visitorOf } from '../http/access.ts';
import { entered, type FormProblems, problemsOf } from '../http/forms.ts';
import { shownBrowser } from '../http/known-browser-cookie.ts';
import { limitTries, longestTry } from '../http/limit-tries.ts';
import { ownAddress } from '../http/own-address.ts';
import { dashboardPath } from '../http/paths.ts';
import { sendPage } from '../http/render.ts';
import { beginSession } from '../http/session.ts';
import { signedIn } from '../http/signed-in.ts';
import { Field, FormNotice, inputProps } from '../layout/form.tsx';
import { Gate } from '../layout/gate.tsx';
import { Notice } from '../layout/notice.tsx';

const formSchema = z.object({ email: z.string().max(longestTry), password: z.string().max(longestTry) });
const chosen = z.string().optional().catch(undefined);
const querySchema = z.object({ next: chosen, done: chosen });

/** `/dashboard/sign-in`. */
export async function signInPages(scope: Api, deps: ApiDependencies): Promise<void> {
  scope.get(`${dashboardPath}/sign-in`, async (request, reply) => {
    const { next, done } = querySchema.parse(request.query);
    if ((await signedIn(deps, request, reply)) !== null) return reply.redirect(ownAddress(next), 303);
    if (await needsFirstOwner(deps.db)) return reply.redirect(`${dashboardPath}/set-up`, 303);
    return sendPage(reply, <SignIn next={ownAddress(next)} done={done} email="" problems={{}} />);
  });

  await limitTries(scope, (limited) => {
    limited.post(`${dashboardPath}/sign-in`, async (request, reply) => {
      const next = ownAddress(entered(request.body, 'next'));
      const refuse = (form: string) =>
        sendPage(
          reply.code(401),
          <SignIn next={next} done={undefined} email={entered(request.body, 'email')} problems={{ form }} />,
        );
      const form = formSchema.safeParse(request.body);
      if (!form.success) return refuse(wrong);
      const asked = { ...form.data, browser: shownBrowser(request) };
      const outcome = await signIn({ ...deps, log: request.log }, asked);
      switch (outcome.kind) {
        case 'refused':
          return refuse(wrong);
        case 'locked':
          return refuse(
            `Too many tries for this address. It can be tried again in ${waitInWords(outcome.retryAfterSeconds)}.`,
          );
        case 'signed-in':
          try {
            await beginSession(deps, request, reply, outcome.proof);
          } catch (error) {
            return refuse(problemsOf(error, []).form ?? wrong);
          }
          return reply.redirect(next, 303);
      }
    });
  });
}

/** Ends the session; what is left of it in the browser opens nothing any more. */
export function signOutRoute(scope: Api, deps: ApiDependencies): void {
  scope.post(`${dashboardPath}/sign-out`, async (request, reply) => {
    await signOut(deps, { userId: visitorOf(request).user.id, sid: request.session.sessionId });
    await request.session.destroy();
    return reply.redirect(`${dashboardPath}/sign-in?done=signed-out`, 303);
  });
}

const wrong = 'The e-mail address or the password is not right.';

function waitInWords(seconds: number): string {
  return seconds < 100 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}

interface SignInProps {
  next: string;
  done: string | undefined;
  email: string;
  problems: FormProblems;
}

function SignIn({ next, done, email, problems }: SignInProps) {
  return (
    <Gate title="Sign in">
      {done === 'signed-out' ? <Notice tone="good">You are signed out.</Notice> : null}
      <form method="post" action={`${dashboardPath}/sign-in`} class="card stack">
        <FormNotice problems={problems} />
        <input type="hidden" name="next" value={next} />
        <Field name="email" label="E-mail address">
          <input {...inputProps('email')} type="email" autocomplete="username" required value={email} />
        </Field>
        <Field name="password" label="Password">
          <input {...inputProps('password')} type="password" autocomplete="current-password" required />
        </Field>
        <button type="submit" class="button" data-kind="primary">
          Sign in
        </button>
      </form>
      <p class="small muted">
        Forgotten? An operator of this installation gives you a new password with{' '}
        <code>admin user reset-password</code>.
      </p>
    </Gate>
  );
}
