import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { needsFirstOwner } from '#shared/people/members/first-owner.ts';
import { checkSignInCode, wrongCode } from '#shared/people/sign-in/check-code.ts';
import { lockedError } from '#shared/people/sign-in/lockout.ts';
import { findSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import { type Proof, signOut } from '#shared/people/sign-in/sessions.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Fields } from '../components/fields.tsx';
import { CodeField, emptyForm, Form, Post } from '../components/form.tsx';
import { ownSessionOf } from '../http/access.ts';
import { capitalized, entered, type FormProblems, type FormState, problemsOf } from '../http/forms.ts';
import { companySignInPath, dashboardPath, passwordResetPath, safeReturnPath } from '../http/paths.ts';
import { openField, sealField } from '../http/sealed-field.ts';
import { beginSession, findVisitor, knownBrowserOf } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';
import { Done, leadTo } from '../layout/done.tsx';

const path = `${dashboardPath}/sign-in`;
const codePath = `${path}/code`;
const purpose = 'code at sign-in';
/** Longer than any email address or password. */
const maxInputLength = 400;
const formSchema = z.object({
  email: z
    .string()
    .max(maxInputLength)
    .meta({ title: 'Email address', format: 'email', autocomplete: 'username' }),
  password: z
    .string()
    .max(maxInputLength)
    .meta({ title: 'Password', format: 'password', autocomplete: 'current-password' }),
});

const incorrect = 'Incorrect email address or password.';

/** `/dashboard/sign-in`, and `/dashboard/sign-in/code` for the second step. */
export function signInPages(scope: Api, deps: ApiDependencies): void {
  const hasMail = () => deps.settings.SMTP_URL !== null;

  scope.get(path, async (request, reply) => {
    const next = safeReturnPath(entered(request.query, 'next'));
    if ((await findVisitor(deps, request, reply)) !== null) return reply.redirect(next, 303);
    if (await needsFirstOwner(deps.db)) return reply.redirect(`${dashboardPath}/set-up`, 303);
    return reply.send(<SignIn {...{ form: emptyForm, next, hasMail: hasMail() }} />);
  });

  scope.post(path, async (request, reply) => {
    const { body } = request;
    const next = safeReturnPath(entered(body, 'next'));
    const refuse = (message: string) => {
      const form = { body, problems: { form: message } };
      return reply.code(401).send(<SignIn {...{ form, next, hasMail: hasMail() }} />);
    };
    const form = formSchema.safeParse(body);
    if (!form.success) return refuse(incorrect);
    const attempt = { ...form.data, ip: request.ip, browser: knownBrowserOf(request) };
    const outcome = await signIn({ ...deps, log: request.log }, attempt);
    if (outcome.kind === 'refused') return refuse(incorrect);
    if (outcome.kind === 'locked') {
      const wait = formatWait(outcome.retryAfterSeconds);
      return refuse(
        `Too many attempts. Try again in ${wait}, or in a browser in which you have signed in before.`,
      );
    }
    const { proof } = outcome;
    if ((await findSecondFactor(deps.db, proof.userId)) !== null) {
      return reply.send(<SignInCode sealed={sealField(deps, proof, purpose)} next={next} problems={{}} />);
    }
    return await begin(deps, reply, proof, next, ({ form: message = incorrect }) => refuse(message));
  });

  scope.post(codePath, async (request, reply) => {
    const { body } = request;
    const next = safeReturnPath(entered(body, 'next'));
    const sealed = entered(body, 'proof');
    const proof = openField<Proof>(deps, sealed, purpose);
    if (proof === null) return leadTo(reply, path, 'sign-in-expired');
    const refuse = (problems: FormProblems) =>
      reply.code(401).send(<SignInCode {...{ sealed, next, problems }} />);
    const guess = { proof, code: entered(body, 'code'), browser: knownBrowserOf(request) };
    const check = await checkSignInCode({ ...deps, log: request.log }, guess);
    if (check.kind === 'locked') return refuse({ form: lockedError(check).message });
    if (check.kind === 'wrong') return refuse({ code: capitalized(wrongCode) });
    const { secondFactorEnabledAt } = check;
    return await begin(deps, reply, { ...proof, secondFactorEnabledAt }, next, refuse);
  });
}

async function begin(
  deps: ApiDependencies,
  reply: FastifyReply,
  proof: Proof,
  next: string,
  refuse: (problems: FormProblems) => FastifyReply,
): Promise<FastifyReply> {
  try {
    await beginSession(deps, reply.request, reply, proof);
  } catch (error) {
    return refuse(problemsOf(error, []));
  }
  return reply.redirect(next, 303);
}

/** `/dashboard/sign-out`: ends the session, so that a copy of its cookie is useless. */
export function signOutRoute(scope: Api, deps: ApiDependencies): void {
  scope.post(`${dashboardPath}/sign-out`, async (request, reply) => {
    await signOut(deps, ownSessionOf(request));
    await request.session.destroy();
    return leadTo(reply, path, 'signed-out');
  });
}

/** Ends the session. */
export function SignOut() {
  return <Post to={`${dashboardPath}/sign-out`}>Sign out</Post>;
}

function formatWait(seconds: number): string {
  return seconds < 100 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}

interface SignInProps {
  form: FormState;
  /** Where to go afterwards. */
  next: string;
  /** Whether the service can mail a link to set a new password. */
  hasMail: boolean;
}

function SignIn({ form, next, hasMail }: SignInProps) {
  return (
    <Gate title="Sign in">
      <Done />
      <Form to={path} form={form} submit="Sign in" isWide>
        <input type="hidden" name="next" value={next} />
        <Fields schema={formSchema} form={form} />
      </Form>
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

interface SignInCodeProps {
  /** The proof of the password. */
  sealed: string;
  /** Where to go afterwards. */
  next: string;
  problems: FormProblems;
}

/** Until the code is right there is no session: the form itself holds the proof of the password. */
function SignInCode({ sealed, next, problems }: SignInCodeProps) {
  const form = { body: {}, problems };
  return (
    <Gate title="Enter your code">
      <Form to={codePath} form={form} submit="Sign in" isWide>
        <input type="hidden" name="proof" value={sealed} />
        <input type="hidden" name="next" value={next} />
        <CodeField form={form} />
      </Form>
      <p class="small muted">
        Lost your device and your recovery codes? Ask the operator of this service to reset your second
        factor. <a href={path}>Back to sign-in</a>
      </p>
    </Gate>
  );
}
