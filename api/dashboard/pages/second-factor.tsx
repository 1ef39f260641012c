import type { FastifyReply } from 'fastify';
import encodeQr from 'qr';
import { newSecret, otpauthUri } from '#shared/people/sign-in/one-time-passwords.ts';
import {
  disableSecondFactor,
  type EnabledSecondFactor,
  enableSecondFactor,
  type findSecondFactor,
  replaceRecoveryCodes,
} from '#shared/people/sign-in/second-factor.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import type { Api } from '../../http/route.ts';
import { ButtonLink } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { CodeField, Form, Post } from '../components/form.tsx';
import { Notice } from '../components/notice.tsx';
import { CopyButton, Moment } from '../components/values.tsx';
import { ownSessionOf, useVisitor, visitorOf } from '../http/access.ts';
import { entered, type FormProblems, validationProblemsOf } from '../http/forms.ts';
import { accountPath, dashboardPath } from '../http/paths.ts';
import { useRequest } from '../http/render.ts';
import { openField, sealField } from '../http/sealed-field.ts';
import { renewSession, type Visitor } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';
import { leadTo } from '../layout/done.tsx';

const path = `${accountPath}/second-factor`;
const confirm = { config: { confirm: true } } as const;

/** Only the user who was shown a secret can enable it. */
const purposeOf = ({ user }: Visitor) => `secret for ${user.id}`;

/** Setting up the user's own second factor, replacing its recovery codes and turning it off. */
export function secondFactorPages(scope: Api, deps: ApiDependencies): void {
  const sendSetUp = (reply: FastifyReply, secret: string, problems: FormProblems) => {
    const sealed = sealField(deps, secret, purposeOf(visitorOf(reply.request)));
    return reply.send(<SetUp {...{ secret, sealed, problems }} />);
  };

  scope.post(path, confirm, async (_request, reply) => sendSetUp(reply, newSecret(), {}));

  scope.post(`${path}/enable`, confirm, async (request, reply) => {
    const { body } = request;
    const secret = openField<string>(deps, entered(body, 'secret'), purposeOf(visitorOf(request)));
    if (secret === null) return leadTo(reply, accountPath, 'set-up-expired');
    const change = { ...ownSessionOf(request), secret, code: entered(body, 'code') };
    let enabled: EnabledSecondFactor;
    try {
      enabled = await enableSecondFactor(deps, change);
    } catch (error) {
      return sendSetUp(reply.code(400), secret, validationProblemsOf(error, ['code']));
    }
    await renewSession(deps, request, reply, enabled.proof);
    return sendRecoveryCodes(reply, 'Second factor enabled', enabled.recoveryCodes);
  });

  scope.post(`${path}/recovery-codes`, confirm, async (request, reply) => {
    const codes = await replaceRecoveryCodes(deps, ownSessionOf(request));
    return sendRecoveryCodes(reply, 'New recovery codes', codes);
  });

  scope.post(`${path}/disable`, confirm, async (request, reply) => {
    const proof = await disableSecondFactor(deps, ownSessionOf(request));
    await renewSession(deps, request, reply, proof);
    return leadTo(reply, accountPath, 'second-factor-disabled');
  });
}

function SetUp({ secret, sealed, problems }: { secret: string; sealed: string; problems: FormProblems }) {
  const form = { body: {}, problems };
  return (
    <Gate title="Set up a second factor">
      <Form to={`${path}/enable`} form={form} submit="Enable" cancel={accountPath}>
        <p>Scan this code with an authenticator app, or enter the secret into it.</p>
        <QrCode text={otpauthUri(secret, useVisitor().user.email)} />
        <p class="secret">
          <code>{secret}</code>
          <CopyButton text={secret} label="secret" />
        </p>
        <CodeField form={form} hint="The six digits that the app shows now." />
        <input type="hidden" name="secret" value={sealed} />
        <p class="small muted">All other sessions will be signed out.</p>
      </Form>
    </Gate>
  );
}

/** A QR code as elements of the page, which needs no exception from the content policy. */
function QrCode({ text }: { text: string }) {
  const rows = encodeQr(text, 'raw', { border: 4 });
  const dark = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg
      class="qr-code"
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      shape-rendering="crispEdges"
      role="img"
      aria-label="QR code of the secret below"
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  );
}

function sendRecoveryCodes(reply: FastifyReply, title: string, codes: readonly string[]): FastifyReply {
  const text = codes.join('\n');
  return reply.send(
    <Gate title={title}>
      <section class="card stack" aria-labelledby="codes-title">
        <h2 id="codes-title">Recovery codes</h2>
        <p>
          Save these codes now; they won't be shown again. Each one works once instead of a code from your
          app, for example if you lose your device.
        </p>
        <pre>{text}</pre>
        <CopyButton text={text} label="recovery codes" />
        <p>
          <ButtonLink kind="primary" to={dashboardPath}>
            Continue
          </ButtonLink>
        </p>
      </section>
    </Gate>,
  );
}

export interface SecondFactorProps {
  secondFactor: Awaited<ReturnType<typeof findSecondFactor>>;
}

/** The state of the user's second factor, with what can be done about it. */
export function SecondFactor({ secondFactor }: SecondFactorProps) {
  const isRequired = entered(useRequest().query, 'required') !== '';
  return (
    <Card id="second-factor" title="Second factor">
      {secondFactor === null ? (
        <>
          {isRequired ? (
            <Notice tone="warn">
              The organization that you want to open requires a second factor. Set one up first.
            </Notice>
          ) : null}
          <p>Protect your sign-in with codes from an authenticator app.</p>
          <div class="row">
            <Post to={path} kind="primary">
              Set up
            </Post>
          </div>
        </>
      ) : (
        <>
          <p>
            Enabled <Moment at={secondFactor.enabledAt} />. Unused recovery codes:{' '}
            {secondFactor.recoveryCodesLeft}.
          </p>
          <div class="row">
            <Post to={`${path}/recovery-codes`}>New recovery codes</Post>
            <Post to={path}>Replace</Post>
            <Post to={`${path}/disable`} kind="danger">
              Turn off
            </Post>
          </div>
        </>
      )}
    </Card>
  );
}
