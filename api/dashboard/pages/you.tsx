import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { kindsByRole, type NotificationKind, notificationKinds } from '#shared/notifications/kinds.ts';
import { chooseMails } from '#shared/people/members/mail-choices.ts';
import { findMembership, organizationsOf } from '#shared/people/members/memberships.ts';
import { chooseSingleKeys } from '#shared/people/members/single-keys.ts';
import { changePassword } from '#shared/people/sign-in/passwords.ts';
import { findSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import {
  listSessions,
  revokeOtherSessions,
  revokeSession,
  type SessionSummary,
} from '#shared/people/sign-in/sessions.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { Badge } from '../components/badge.tsx';
import { Link } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { newPasswordInput } from '../components/fields.tsx';
import { Form, Post } from '../components/form.tsx';
import { Moment } from '../components/values.tsx';
import { confirmed, ownSessionOf, useVisitor, visitorOf } from '../http/access.ts';
import { problemsOf } from '../http/forms.ts';
import { page } from '../http/page.ts';
import { accountPath, dashboardPath, idInPath, pageNotFound } from '../http/paths.ts';
import { limitAttempts } from '../http/rate-limits.ts';
import { useRequest } from '../http/render.ts';
import { renewSession } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';
import { browserWord } from '../words/words.ts';
import { SecondFactor, type SecondFactorProps, secondFactorForms } from './second-factor.tsx';
import { SignOut } from './sign-in.tsx';

const path = accountPath;
const passwordSchema = z.object({
  current: z
    .string()
    .max(400, 'The current password is incorrect.')
    .meta({ title: 'Current password', format: 'password', autocomplete: 'current-password' }),
  next: newPasswordInput('New password', 'All other sessions will be signed out.'),
});

const mailsSchema = z.object({
  kinds: z
    .preprocess((given) => [given ?? []].flat(), z.array(z.enum(notificationKinds)))
    .meta({ title: 'Email me about', type: 'array' }),
});

const singleKeysSchema = z.object({ singleKeys: z.enum(['on', 'off']) });

/** `/dashboard/you`: the user's own password, second factor, mails, single keys and sessions. */
export async function youPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const you = page(scope, path, null, (request) => readUser(deps, request), You);
  secondFactorForms(you, deps);

  await limitAttempts(scope, (limited) => {
    you.form(
      `${path}/password`,
      confirmed(),
      passwordSchema,
      async (request, entries, reply) => {
        const own = { ...ownSessionOf(request), ...entries };
        const proof = await changePassword({ ...deps, log: request.log }, own);
        await renewSession(deps, request, reply, proof);
        return 'password-changed';
      },
      { scope: limited, problemsIn: passwordProblemsOf },
    );
  });

  you.form(`${path}/mails/:organizationId`, confirmed(), mailsSchema, async (request, { kinds }) => {
    const { companyOf } = request.session;
    const organizationId = idInPath(request, 'organizationId', 'org');
    const membership = await findMembership(deps.db, visitorOf(request).user.id, organizationId, companyOf);
    if (membership === null) throw pageNotFound();
    await chooseMails(deps, { ...ownSessionOf(request), organizationId, kinds });
    return 'mails-chosen';
  });
  you.form(`${path}/single-keys`, null, singleKeysSchema, async (request, { singleKeys }) => {
    await chooseSingleKeys(deps, visitorOf(request).user.id, singleKeys === 'on');
    return singleKeys === 'on' ? 'single-keys-on' : 'single-keys-off';
  });
  you.button(`${path}/sessions/end-others`, null, async (request) => {
    await revokeOtherSessions(deps, ownSessionOf(request));
    return 'sessions-ended';
  });
  you.button(`${path}/sessions/:id/end`, null, async (request) => {
    await revokeSession(deps, { ...ownSessionOf(request), id: idInPath(request, 'id', 'ses') });
    return 'session-ended';
  });
}

async function readUser(deps: ApiDependencies, request: FastifyRequest): Promise<YouProps> {
  const { user } = visitorOf(request);
  const { companyOf } = request.session;
  const organizations = deps.settings.SMTP_URL === null ? [] : await organizationsOf(deps.db, user.id);
  return {
    sessions: await listSessions(deps, user.id),
    secondFactor: await findSecondFactor(deps.db, user.id),
    organizations: organizations.filter(({ id }) => (companyOf ?? id) === id),
  };
}

/** Once the session has ended, the user's page must not be shown. */
function passwordProblemsOf(error: unknown, fields: readonly string[]) {
  if (error instanceof ServiceError && error.code === 'insufficient_scope') throw error;
  return problemsOf(error, fields);
}

interface YouProps extends SecondFactorProps {
  /** Those that may mail the user. */
  organizations: Awaited<ReturnType<typeof organizationsOf>>;
  sessions: readonly SessionSummary[];
}

function You({ secondFactor, sessions, organizations }: YouProps) {
  return (
    <Gate title="Your account">
      <p class="muted">
        Signed in as {useVisitor().user.email}. <Link to={dashboardPath}>Back to dashboard</Link>
      </p>
      <PasswordForm />
      <SecondFactor secondFactor={secondFactor} />
      <MailChoices organizations={organizations} />
      <SingleKeys />
      <Sessions sessions={sessions} />
    </Gate>
  );
}

function PasswordForm() {
  return (
    <Form to={`${path}/password`} title="Change password" submit="Change password" schema={passwordSchema}>
      <input type="hidden" autocomplete="username" value={useVisitor().user.email} />
    </Form>
  );
}

const kindWords: Readonly<Record<NotificationKind, string>> = {
  approvals: 'Approvals',
  attention: 'Refunds and accounts that need attention',
  processors: 'Processors that hold up refunds',
  webhooks: 'Disabled webhook endpoints',
  keys: 'New API keys',
};

/** A form for each organization whose notifications the user's role gets. */
function MailChoices({ organizations }: Pick<YouProps, 'organizations'>) {
  return (
    <>
      {organizations.map(({ id, name, role, declinedMails }) => {
        const offered = kindsByRole[role];
        if (offered.length === 0) return null;
        const kinds = offered.filter((kind) => !declinedMails.includes(kind));
        return (
          <Form
            key={id}
            to={`${path}/mails/${id}`}
            title={`Emails from ${name}`}
            submit="Save"
            schema={mailsSchema}
            choices={{ kinds: offered.map((kind) => [kind, kindWords[kind]]) }}
            initial={{ kinds }}
          />
        );
      })}
    </>
  );
}

function SingleKeys() {
  const { singleKeys } = useVisitor().user;
  return (
    <Card id="single-keys" title="Single keys">
      <p>
        {singleKeys
          ? 'Keys such as / to search and a to approve work without Ctrl. Turn them off if you press them by accident.'
          : 'Off. Ctrl-K still opens the search.'}
      </p>
      <div class="row">
        <Post to={`${path}/single-keys`} values={{ singleKeys: singleKeys ? 'off' : 'on' }}>
          {singleKeys ? 'Turn off' : 'Turn on'}
        </Post>
      </div>
    </Card>
  );
}

function Sessions({ sessions }: Pick<YouProps, 'sessions'>) {
  const current = useRequest().session.storedId;
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
                <SignOut />
              </div>
            ) : (
              <Post to={`${path}/sessions/${id}/end`}>
                Sign out<span class="visually-hidden"> {nameOf(userAgent)}</span>
              </Post>
            )}
          </li>
        ))}
      </ul>
      {sessions.length < 2 ? null : (
        <Post to={`${path}/sessions/end-others`} kind="danger">
          Sign out all other sessions
        </Post>
      )}
    </Card>
  );
}

/** Programs and unknown browsers go by their raw user agent. */
function nameOf(userAgent: string | null): string {
  return userAgent === null ? 'Unknown browser' : (browserWord(userAgent) ?? userAgent);
}
