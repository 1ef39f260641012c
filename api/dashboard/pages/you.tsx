import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { changePassword } from '#shared/people/sign-in/passwords.ts';
import { findSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import {
  listSessions,
  type Proof,
  revokeOtherSessions,
  revokeSession,
  type SessionSummary,
} from '#shared/people/sign-in/sessions.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Badge } from '../components/badge.tsx';
import { Submit } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { CsrfField, FormNotice, NewPasswordField, TextField } from '../components/form.tsx';
import { Moment } from '../components/values.tsx';
import { ownSessionOf, visitorOf } from '../http/access.ts';
import { type FormProblems, problemsOf, readForm } from '../http/forms.ts';
import { accountPath, dashboardPath, idInPath } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { sendPage } from '../http/render.ts';
import { beginSession, type Visitor } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';
import { Done, doneAt } from '../layout/done.tsx';
import { browserWord } from '../words/words.ts';
import { SecondFactor } from './second-factor.tsx';
import { SignOut } from './sign-in.tsx';

const path = accountPath;
const passwordSchema = z.object({
  current: z.string().max(400, 'The current password is incorrect.'),
  next: z.string(),
});

/** `/dashboard/you`: the user's own password and sessions. */
export async function youPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const show = async (request: FastifyRequest, reply: FastifyReply, problems: FormProblems) => {
    const visitor = visitorOf(request);
    const sessions = await listSessions(deps, visitor.user.id);
    const { storedId: current } = request.session;
    const { query } = request;
    const secondFactor = await findSecondFactor(deps.db, visitor.user.id);
    return sendPage(reply, <You {...{ visitor, secondFactor, sessions, current, query, problems }} />);
  };

  scope.get(path, (request, reply) => show(request, reply, {}));

  await limitAttempts(scope, (limited) => {
    limited.post(`${path}/password`, { config: { confirm: true } }, async (request, reply) => {
      const again = (problems: FormProblems) => show(request, reply.code(400), problems);
      const form = readForm(passwordSchema, request.body);
      if (form.kind === 'invalid') return await again(form.problems);
      const change = { ...ownSessionOf(request), ...form.value };
      let proof: Proof;
      try {
        proof = await changePassword({ ...deps, log: request.log }, change);
      } catch (error) {
        // The session has ended, so the user's page must not be shown.
        if (error instanceof ServiceError && error.code === 'insufficient_scope') throw error;
        return await again(problemsOf(error, ['current', 'next']));
      }
      await beginSession(deps, request, reply, proof);
      return reply.redirect(doneAt(path, 'password-changed'), 303);
    });
  });

  scope.post(`${path}/sessions/end-others`, async (request, reply) => {
    await revokeOtherSessions(deps, ownSessionOf(request));
    return reply.redirect(doneAt(path, 'sessions-ended'), 303);
  });

  scope.post(`${path}/sessions/:id/end`, async (request, reply) => {
    const id = idInPath(request, 'id', 'ses');
    await revokeSession(deps, { ...ownSessionOf(request), id });
    return reply.redirect(doneAt(path, 'session-ended'), 303);
  });
}

interface YouProps {
  visitor: Visitor;
  secondFactor: Awaited<ReturnType<typeof findSecondFactor>>;
  sessions: readonly SessionSummary[];
  /** The id of the session that shows the page. */
  current: string | undefined;
  query: unknown;
  problems: FormProblems;
}

function You({ visitor, secondFactor, sessions, current, query, problems }: YouProps) {
  return (
    <Gate title="Your account">
      <p class="muted">
        Signed in as {visitor.user.email}. <a href={dashboardPath}>Back to dashboard</a>
      </p>
      <Done query={query} />
      <PasswordForm visitor={visitor} problems={problems} />
      <SecondFactor visitor={visitor} secondFactor={secondFactor} query={query} />
      <Sessions visitor={visitor} sessions={sessions} current={current} />
    </Gate>
  );
}

function PasswordForm({ visitor, problems }: Pick<YouProps, 'visitor' | 'problems'>) {
  const form = { body: {}, problems };
  return (
    <form method="post" action={`${path}/password`} class="card stack">
      <h2>Change password</h2>
      <FormNotice problems={problems} />
      <CsrfField token={visitor.csrfToken} />
      <input type="hidden" autocomplete="username" value={visitor.user.email} />
      <TextField
        form={form}
        name="current"
        label="Current password"
        type="password"
        required
        autocomplete="current-password"
      />
      <NewPasswordField
        form={form}
        name="next"
        label="New password"
        consequence="All other sessions will be signed out."
      />
      <div>
        <Submit kind="primary">Change password</Submit>
      </div>
    </form>
  );
}

function Sessions({ visitor, sessions, current }: Pick<YouProps, 'visitor' | 'sessions' | 'current'>) {
  return (
    <Card id="sessions" title="Sessions">
      <ul class="stack">
        {sessions.map(({ id, userAgent, ip, lastSeenAt }) => (
          <li key={id} class="spread">
            <div>
              <p title={userAgent ?? undefined}>{nameOf(userAgent)}</p>
              <p class="small muted">
                {ip ?? 'Unknown network address'}, last active <Moment at={lastSeenAt} />
              </p>
            </div>
            {id === current ? (
              <div class="row">
                <Badge tone="good">This session</Badge>
                <SignOut csrfToken={visitor.csrfToken} />
              </div>
            ) : (
              <form method="post" action={`${path}/sessions/${id}/end`}>
                <CsrfField token={visitor.csrfToken} />
                <Submit>
                  Sign out<span class="visually-hidden"> {nameOf(userAgent)}</span>
                </Submit>
              </form>
            )}
          </li>
        ))}
      </ul>
      {sessions.length < 2 ? null : (
        <form method="post" action={`${path}/sessions/end-others`}>
          <CsrfField token={visitor.csrfToken} />
          <Submit kind="danger">Sign out all other sessions</Submit>
        </form>
      )}
    </Card>
  );
}

/** Programs and unknown browsers go by their raw user agent. */
function nameOf(userAgent: string | null): string {
  return userAgent === null ? 'Unknown browser' : (browserWord(userAgent) ?? userAgent);
}
