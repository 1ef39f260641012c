import { z } from 'zod';
import { needsFirstOwner } from '#shared/people/members/first-owner.ts';
import { signOut } from '#shared/people/sign-in/sessions.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Submit } from '../components/button.tsx';
import { CsrfField, emptyForm, FormNotice, type FormState, TextField } from '../components/form.tsx';
import { ownSessionOf } from '../http/access.ts';
import { entered, problemsOf } from '../http/forms.ts';
import { companySignInPath, dashboardPath, passwordResetPath, safeReturnPath } from '../http/paths.ts';
import { sendPage } from '../http/render.ts';
import { beginSession, findVisitor, knownBrowserOf } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';
import { Done, doneAt } from '../layout/done.tsx';
import { askForCode } from './sign-in-code.tsx';

const path = `${dashboardPath}/sign-in`;
/** Longer than any email address or password. */
const maxInputLength = 400;
const formSchema = z.object({
  email: z.string().max(maxInputLength),
  password: z.string().max(maxInputLength),
});

const incorrect = 'Incorrect email address or password.';

/** `/dashboard/sign-in`. */
export async function signInPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const hasMail = deps.settings.SMTP_URL !== null;

  scope.get(path, async (request, reply) => {
    const { query } = request;
    const next = safeReturnPath(entered(query, 'next'));
    if ((await findVisitor(deps, request, reply)) !== null) return reply.redirect(next, 303);
    if (await needsFirstOwner(deps.db)) return reply.redirect(`${dashboardPath}/set-up`, 303);
    return sendPage(reply, <SignIn {...{ query, form: emptyForm, next, hasMail }} />);
  });

  scope.post(path, async (request, reply) => {
    const next = safeReturnPath(entered(request.body, 'next'));
    const { body } = request;
    const refuse = (message: string) => {
      const form = { body, problems: { form: message } };
      return sendPage(reply.code(401), <SignIn {...{ form, next, hasMail }} />);
    };
    const form = formSchema.safeParse(body);
    if (!form.success) return refuse(incorrect);
    const attempt = { ...form.data, ip: request.ip, browser: knownBrowserOf(request) };
    const outcome = await signIn({ ...deps, log: request.log }, attempt);
    switch (outcome.kind) {
      case 'refused':
        return refuse(incorrect);
      case 'locked': {
        const wait = formatWait(outcome.retryAfterSeconds);
        return refuse(
          `Too many attempts. Try again in ${wait}, or in a browser in which you have signed in before.`,
        );
      }
      case 'signed-in': {
        const asked = await askForCode(deps, reply, outcome.proof, next);
        if (asked !== null) return asked;
        try {
          await beginSession(deps, request, reply, outcome.proof);
        } catch (error) {
          return refuse(problemsOf(error, []).form ?? incorrect);
        }
        return reply.redirect(next, 303);
      }
    }
  });
}

/** `/dashboard/sign-out`: ends the session, so that a copy of its cookie is useless. */
export function signOutRoute(scope: Api, deps: ApiDependencies): void {
  scope.post(`${dashboardPath}/sign-out`, async (request, reply) => {
    await signOut(deps, ownSessionOf(request));
    await request.session.destroy();
    return reply.redirect(doneAt(path, 'signed-out'), 303);
  });
}

/** Ends the session. */
export function SignOut({ csrfToken }: { csrfToken: string }) {
  return (
    <form method="post" action={`${dashboardPath}/sign-out`}>
      <CsrfField token={csrfToken} />
      <Submit>Sign out</Submit>
    </form>
  );
}

function formatWait(seconds: number): string {
  return seconds < 100 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}

interface SignInProps {
  query?: unknown;
  form: FormState;
  /** Where to go afterwards. */
  next: string;
  /** Whether the service can mail a link to set a new password. */
  hasMail: boolean;
}

function SignIn({ query, form, next, hasMail }: SignInProps) {
  return (
    <Gate title="Sign in">
      <Done query={query} />
      <form method="post" action={path} class="card stack">
        <FormNotice problems={form.problems} />
        <input type="hidden" name="next" value={next} />
        <TextField
          form={form}
          name="email"
          label="Email address"
          type="email"
          autocomplete="username"
          required
        />
        <TextField
          form={form}
          name="password"
          label="Password"
          type="password"
          autocomplete="current-password"
          required
        />
        <Submit kind="primary">Sign in</Submit>
      </form>
      <CompanyLink next={next} />
      {hasMail ? (
        <a href={passwordResetPath}>Forgot your password?</a>
      ) : (
        <p class="small muted">Forgot your password? Ask the operator of this service to reset it.</p>
      )}
    </Gate>
  );
}

/** For every organization that the address names, whether it has a provider or not, so that the page reveals nothing. */
function CompanyLink({ next }: { next: string }) {
  const [, organizationId] = /^\/dashboard\/(org_\w+)/.exec(next) ?? [];
  if (organizationId === undefined) {
    return (
      <p class="small muted">
        To sign in with your company's account, open the sign-in link of your organization.
      </p>
    );
  }
  const address = `${companySignInPath}/${organizationId}?next=${encodeURIComponent(next)}`;
  return <a href={address}>Sign in with your company's account</a>;
}
