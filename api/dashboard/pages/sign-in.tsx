import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { needsFirstOwner } from '#shared/people/members/first-owner.ts';
import { checkSignInCode, wrongCode } from '#shared/people/sign-in/check-code.ts';
import { lockedError } from '#shared/people/sign-in/lockout.ts';
import { findSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import { type Proof, signOut } from '#shared/people/sign-in/sessions.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Link } from '../components/button.tsx';
import { Form, Post } from '../components/form.tsx';
import { CodeField } from '../components/inputs.tsx';
import { ownSessionOf } from '../http/access.ts';
import { entered, type FormProblems, problemsOf } from '../http/forms.ts';
import { follow, leadTo, page } from '../http/page.ts';
import { companySignInPath, dashboardPath, passwordResetPath, safeReturnPath } from '../http/paths.ts';
import { openField, sealField } from '../http/sealed-field.ts';
import { beginSession, findVisitor, knownBrowserOf } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';

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
  const read = async (request: FastifyRequest, reply: FastifyReply) => {
    const next = nextOf(request);
    const shown = { next, hasMail: deps.settings.SMTP_URL !== null };
    if (request.method === 'POST') return shown;
    if ((await findVisitor(deps, request, reply)) !== null) return leadTo(next);
    return (await needsFirstOwner(deps.db)) ? leadTo(`${dashboardPath}/set-up`) : shown;
  };
  const signInPage = page(scope, path, null, read, SignIn);

  signInPage.form(path, null, z.unknown(), async (request, body, reply) => {
    const form = formSchema.safeParse(body);
    if (!form.success) return refuse(request, reply, { form: incorrect });
    const attempt = { ...form.data, ip: request.ip, browser: knownBrowserOf(request) };
    const outcome = await signIn({ ...deps, log: request.log }, attempt);
    if (outcome.kind === 'refused') return refuse(request, reply, { form: incorrect });
    if (outcome.kind === 'locked') {
      const wait = formatWait(outcome.retryAfterSeconds);
      return refuse(request, reply, {
        form: `Too many attempts. Try again in ${wait}, or in a browser in which you have signed in before.`,
      });
    }
    const { proof } = outcome;
    if ((await findSecondFactor(deps.db, proof.userId)) !== null) {
      return <SignInCode sealed={sealField(deps, proof, purpose)} next={nextOf(request)} />;
    }
    const problems = await begin(deps, request, reply, proof);
    return problems === null ? leadTo(nextOf(request)) : refuse(request, reply, problems);
  });

  signInPage.form(codePath, null, z.unknown(), async (request, body, reply) => {
    const next = nextOf(request);
    const sealed = entered(body, 'proof');
    const proof = openField<Proof>(deps, sealed, purpose);
    if (proof === null) return leadTo(path, 'sign-in-expired');
    const problems = await checkCode(deps, request, reply, proof);
    if (problems === null) return leadTo(next);
    refuse(request, reply, problems);
    return <SignInCode {...{ sealed, next }} />;
  });
}

/** Where to go afterwards. */
function nextOf({ query, body }: FastifyRequest): string {
  return safeReturnPath(entered(body, 'next') || entered(query, 'next'));
}

/** Shows the page again, because nobody is signed in. */
function refuse(request: FastifyRequest, reply: FastifyReply, problems: FormProblems) {
  reply.code(401);
  request.submitted = { body: request.body, problems };
  return {};
}

/** Checks the code of the second factor and begins the session. @returns what is wrong; null when nothing is. */
async function checkCode(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<FormProblems | null> {
  const guess = { proof, code: entered(request.body, 'code'), browser: knownBrowserOf(request) };
  const check = await checkSignInCode({ ...deps, log: request.log }, guess);
  if (check.kind === 'locked') return { form: lockedError(check).message };
  if (check.kind === 'wrong') return { code: wrongCode };
  const { secondFactorEnabledAt } = check;
  return await begin(deps, request, reply, { ...proof, secondFactorEnabledAt });
}

async function begin(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<FormProblems | null> {
  try {
    await beginSession(deps, request, reply, proof);
    return null;
  } catch (error) {
    return problemsOf(error, []);
  }
}

/** `/dashboard/sign-out`: ends the session, so that a copy of its cookie is useless. */
export function signOutRoute(scope: Api, deps: ApiDependencies): void {
  scope.post(`${dashboardPath}/sign-out`, async (request, reply) => {
    await signOut(deps, ownSessionOf(request));
    await request.session.destroy();
    return follow(reply, leadTo(path, 'signed-out'));
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
  /** Where to go afterwards. */
  next: string;
  /** Whether the service can mail a link to set a new password. */
  hasMail: boolean;
}

function SignIn({ next, hasMail }: SignInProps) {
  return (
    <Gate title="Sign in">
      <Form to={path} submit="Sign in" schema={formSchema} isWide>
        <input type="hidden" name="next" value={next} />
      </Form>
      <CompanyLink next={next} />
      {hasMail ? (
        <Link to={passwordResetPath}>Forgot your password?</Link>
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
  return <Link to={address}>Sign in with your company's account</Link>;
}

interface SignInCodeProps {
  /** The proof of the password. */
  sealed: string;
  /** Where to go afterwards. */
  next: string;
}

/** Until the code is right there is no session: the form itself holds the proof of the password. */
function SignInCode({ sealed, next }: SignInCodeProps) {
  return (
    <Gate title="Enter your code">
      <Form to={codePath} submit="Sign in" focus="code" isWide>
        <input type="hidden" name="proof" value={sealed} />
        <input type="hidden" name="next" value={next} />
        <CodeField />
      </Form>
      <p class="small muted">
        Lost your device and your recovery codes? Ask the operator of this service to reset your second
        factor. <Link to={path}>Back to sign-in</Link>
      </p>
    </Gate>
  );
}
