import type { FastifyReply } from 'fastify';
import { checkSignInCode, wrongCode } from '#shared/people/sign-in/check-code.ts';
import { lockedError } from '#shared/people/sign-in/lockout.ts';
import { findSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import type { Proof } from '#shared/people/sign-in/sessions.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Submit } from '../components/button.tsx';
import { CodeField, FormNotice } from '../components/form.tsx';
import { capitalized, entered, type FormProblems, problemsOf } from '../http/forms.ts';
import { dashboardPath, safeReturnPath } from '../http/paths.ts';
import { sendPage } from '../http/render.ts';
import { openField, sealField } from '../http/sealed-field.ts';
import { beginSession, knownBrowserOf } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';
import { doneAt } from '../layout/done.tsx';

const signInPath = `${dashboardPath}/sign-in`;
const path = `${signInPath}/code`;
const purpose = 'code at sign-in';

/**
 * Asks for a code after the password was accepted. Until it is right there is no session: the form itself holds the proof
 * of the password.
 * @returns null for a user without a second factor.
 */
export async function askForCode(
  deps: ApiDependencies,
  reply: FastifyReply,
  proof: Proof,
  next: string,
): Promise<FastifyReply | null> {
  if ((await findSecondFactor(deps.db, proof.userId)) === null) return null;
  const sealed = sealField(deps, proof, purpose);
  return sendPage(reply, <SignInCode sealed={sealed} next={next} problems={{}} />);
}

/** `/dashboard/sign-in/code`: the second step of signing in. */
export function signInCodePages(scope: Api, deps: ApiDependencies): void {
  scope.post(path, async (request, reply) => {
    const { body } = request;
    const next = safeReturnPath(entered(body, 'next'));
    const sealed = entered(body, 'proof');
    const proof = openField<Proof>(deps, sealed, purpose);
    if (proof === null) return reply.redirect(doneAt(signInPath, 'sign-in-expired'), 303);
    const refuse = (problems: FormProblems) =>
      sendPage(reply.code(401), <SignInCode sealed={sealed} next={next} problems={problems} />);
    const guess = { proof, code: entered(body, 'code'), browser: knownBrowserOf(request) };
    const check = await checkSignInCode({ ...deps, log: request.log }, guess);
    if (check.kind === 'locked') return refuse({ form: lockedError(check).message });
    if (check.kind === 'wrong') return refuse({ code: capitalized(wrongCode) });
    const { secondFactorEnabledAt } = check;
    try {
      await beginSession(deps, request, reply, { ...proof, secondFactorEnabledAt });
    } catch (error) {
      return refuse(problemsOf(error, []));
    }
    return reply.redirect(next, 303);
  });
}

interface SignInCodeProps {
  /** The proof of the password. */
  sealed: string;
  /** Where to go afterwards. */
  next: string;
  problems: FormProblems;
}

function SignInCode({ sealed, next, problems }: SignInCodeProps) {
  return (
    <Gate title="Enter your code">
      <form method="post" action={path} class="card stack">
        <FormNotice problems={problems} />
        <input type="hidden" name="proof" value={sealed} />
        <input type="hidden" name="next" value={next} />
        <CodeField form={{ body: {}, problems }} />
        <Submit kind="primary">Sign in</Submit>
      </form>
      <p class="small muted">
        Lost your device and your recovery codes? Ask the operator of this service to reset your second
        factor. <a href={signInPath}>Back to sign-in</a>
      </p>
    </Gate>
  );
}
