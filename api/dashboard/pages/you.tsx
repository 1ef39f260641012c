import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  listSessions,
  revokeOtherSessions,
  revokeSession,
  type SessionSummary,
} from '../../../shared/people/own-sessions.ts';
import { changePassword } from '../../../shared/people/password-change.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { visitorOf } from '../http/access.ts';
import { browserName } from '../http/browser-name.ts';
import { type FormProblems, problemsOf, readForm } from '../http/forms.ts';
import { idInPath } from '../http/id-in-path.ts';
import { limitTries, longestTry } from '../http/limit-tries.ts';
import { dashboardPath } from '../http/paths.ts';
import { sendPage } from '../http/render.ts';
import { renewSession } from '../http/session.ts';
import type { Visitor } from '../http/signed-in.ts';
import { Badge } from '../layout/badge.tsx';
import { CsrfField, Field, FormNotice, inputProps } from '../layout/form.tsx';
import { Gate } from '../layout/gate.tsx';
import { NewPasswordField } from '../layout/new-password-field.tsx';
import { Notice } from '../layout/notice.tsx';
import { Moment } from '../layout/values.tsx';

const path = `${dashboardPath}/you`;
const querySchema = z.object({ done: z.string().optional().catch(undefined) });
const passwordSchema = z.object({
  current: z.string().max(longestTry, 'Not the current password.'),
  next: z.string(),
});

/** `/dashboard/you`: what concerns a person alone: the password, and where one is signed in. */
export async function youPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const show = async (
    reply: FastifyReply,
    visitor: Visitor,
    current: string | undefined,
    state: Pick<YouProps, 'done' | 'problems'>,
  ) => {
    const sessions = await listSessions(deps, visitor.user.id);
    return sendPage(reply, <You visitor={visitor} sessions={sessions} current={current} {...state} />);
  };

  scope.get(path, async (request, reply) => {
    const { done } = querySchema.parse(request.query);
    return await show(reply, visitorOf(request), request.session.storedId, { done, problems: {} });
  });

  await limitTries(scope, (limited) => {
    limited.post(`${path}/password`, async (request, reply) => {
      const visitor = visitorOf(request);
      const { storedId } = request.session;
      const again = (problems: FormProblems) =>
        show(reply.code(400), visitor, storedId, { done: undefined, problems });
      const form = readForm(passwordSchema, request.body);
      if (form.kind === 'invalid') return await again(form.problems);
      const change = { userId: visitor.user.id, ...form.value };
      try {
        await renewSession(deps, request, reply, (ids) =>
          changePassword({ ...deps, log: request.log }, { ...change, ...ids }),
        );
      } catch (error) {
        // To who is signed out no page of the person is shown.
        if (error instanceof ServiceError && error.code === 'insufficient_scope') throw error;
        return await again(problemsOf(error, ['current', 'next']));
      }
      return reply.redirect(`${path}?done=password`, 303);
    });
  });

  scope.post(`${path}/sessions/end-others`, async (request, reply) => {
    const { sessionId: sid } = request.session;
    await revokeOtherSessions(deps, { userId: visitorOf(request).user.id, sid });
    return reply.redirect(`${path}?done=sessions`, 303);
  });

  scope.post<{ Params: { id: string } }>(`${path}/sessions/:id/end`, async (request, reply) => {
    const id = idInPath('ses', request.params.id);
    const { sessionId: sid } = request.session;
    await revokeSession(deps, { userId: visitorOf(request).user.id, sid, id });
    return reply.redirect(`${path}?done=session`, 303);
  });
}

const doneWords: Record<string, string> = {
  password: 'Your password is changed; everywhere else you are signed out.',
  session: 'That session is over.',
  sessions: 'All other sessions are over.',
};

interface YouProps {
  visitor: Visitor;
  sessions: readonly SessionSummary[];
  /** The one that the page is shown in. */
  current: string | undefined;
  done: string | undefined;
  problems: FormProblems;
}

function You({ visitor, sessions, current, done, problems }: YouProps) {
  const words = Object.hasOwn(doneWords, done ?? '') ? doneWords[done ?? ''] : undefined;
  return (
    <Gate title="Password and sessions">
      <p class="muted">
        You are {visitor.user.email}. <a href={dashboardPath}>Back to the dashboard</a>
      </p>
      {words === undefined ? null : <Notice tone="good">{words}</Notice>}
      <PasswordForm visitor={visitor} problems={problems} />
      <Sessions visitor={visitor} sessions={sessions} current={current} />
    </Gate>
  );
}

function PasswordForm({ visitor, problems }: Pick<YouProps, 'visitor' | 'problems'>) {
  return (
    <form method="post" action={`${path}/password`} class="card stack">
      <h2>Change the password</h2>
      <FormNotice problems={problems} />
      <CsrfField token={visitor.csrfToken} />
      <input type="hidden" autocomplete="username" value={visitor.user.email} />
      <Field name="current" label="Current password" problem={problems.current}>
        <input
          {...inputProps('current', problems.current)}
          type="password"
          required
          autocomplete="current-password"
        />
      </Field>
      <NewPasswordField
        name="next"
        label="New password"
        consequence="You are signed out everywhere else."
        problem={problems.next}
      />
      <div>
        <button type="submit" class="button" data-kind="primary">
          Change the password
        </button>
      </div>
    </form>
  );
}

function Sessions({ visitor, sessions, current }: Pick<YouProps, 'visitor' | 'sessions' | 'current'>) {
  return (
    <section class="card stack" aria-labelledby="sessions">
      <h2 id="sessions">Where you are signed in</h2>
      <ul class="stack">
        {sessions.map(({ id, userAgent, ip, lastSeenAt }) => (
          <li key={id} class="spread">
            <div>
              <p title={userAgent ?? undefined}>{nameOf(userAgent)}</p>
              <p class="small muted">
                {ip ?? 'unknown address'}, <Moment at={lastSeenAt} />
              </p>
            </div>
            {id === current ? (
              <Badge tone="good">This one</Badge>
            ) : (
              <form method="post" action={`${path}/sessions/${id}/end`}>
                <CsrfField token={visitor.csrfToken} />
                <button type="submit" class="button">
                  End<span class="visually-hidden"> the session of {nameOf(userAgent)}</span>
                </button>
              </form>
            )}
          </li>
        ))}
      </ul>
      {sessions.length < 2 ? null : (
        <form method="post" action={`${path}/sessions/end-others`}>
          <CsrfField token={visitor.csrfToken} />
          <button type="submit" class="button" data-kind="danger">
            End all others
          </button>
        </form>
      )}
    </section>
  );
}

/** One that people do not know, such as a program, goes by what it says of itself. */
function nameOf(userAgent: string | null): string {
  return userAgent === null ? 'An unknown browser' : (browserName(userAgent) ?? userAgent);
}
