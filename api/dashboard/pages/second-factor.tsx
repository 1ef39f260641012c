import type { FastifyRequest } from 'fastify';
import encodeQr from 'qr';
import { z } from 'zod';
import { newSecret, otpauthUri } from '#shared/people/sign-in/one-time-passwords.ts';
import {
  disableSecondFactor,
  type EnabledSecondFactor,
  enableSecondFactor,
  type findSecondFactor,
  replaceRecoveryCodes,
} from '#shared/people/sign-in/second-factor.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { ButtonLink } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Form, Post } from '../components/form.tsx';
import { CodeField } from '../components/inputs.tsx';
import { Notice } from '../components/notice.tsx';
import { CopyButton, Moment } from '../components/values.tsx';
import { confirmed, ownSessionOf, useVisitor, visitorOf } from '../http/access.ts';
import { entered, validationProblemsOf } from '../http/forms.ts';
import { leadTo, type Page } from '../http/page.ts';
import { accountPath, dashboardPath } from '../http/paths.ts';
import { useRequest } from '../http/render.ts';
import { openField, sealField } from '../http/sealed-field.ts';
import { renewSession, type Visitor } from '../http/session.ts';
import { Gate } from '../layout/document.tsx';

const path = `${accountPath}/second-factor`;
/** Only the user who was shown a secret can enable it. */
const purposeOf = ({ user }: Visitor) => `secret for ${user.id}`;

/** Setting up the user's own second factor, replacing its recovery codes and turning it off: the forms of the user's page. */
export function secondFactorForms(you: Page<object>, deps: ApiDependencies): void {
  const guard = confirmed();
  const enrolment = { ...guard, enrols: true } as const;
  const setUp = (request: FastifyRequest, secret: string) => (
    <SetUp secret={secret} sealed={sealField(deps, secret, purposeOf(visitorOf(request)))} />
  );

  you.button(path, enrolment, async (request) => setUp(request, newSecret()));

  you.form(`${path}/enable`, enrolment, z.unknown(), async (request, body, reply) => {
    const secret = openField<string>(deps, entered(body, 'secret'), purposeOf(visitorOf(request)));
    if (secret === null) return leadTo(accountPath, 'set-up-expired');
    const change = { ...ownSessionOf(request), secret, code: entered(body, 'code') };
    let enabled: EnabledSecondFactor;
    try {
      enabled = await enableSecondFactor(deps, change);
    } catch (error) {
      request.submitted = { body: {}, problems: validationProblemsOf(error, ['code']) };
      reply.code(400);
      return setUp(request, secret);
    }
    await renewSession(deps, request, reply, enabled.proof);
    return <RecoveryCodes title="Second factor enabled" codes={enabled.recoveryCodes} />;
  });

  you.button(`${path}/recovery-codes`, guard, async (request) => {
    const codes = await replaceRecoveryCodes(deps, ownSessionOf(request));
    return <RecoveryCodes title="New recovery codes" codes={codes} />;
  });

  you.button(`${path}/disable`, guard, async (request, _entries, reply) => {
    const proof = await disableSecondFactor(deps, ownSessionOf(request));
    await renewSession(deps, request, reply, proof);
    return 'second-factor-disabled';
  });
}

function SetUp({ secret, sealed }: { secret: string; sealed: string }) {
  return (
    <Gate title="Set up a second factor">
      <Form to={`${path}/enable`} submit="Enable" focus="code" cancel={accountPath}>
        <p>Scan this code with an authenticator app, or enter the secret into it.</p>
        <QrCode text={otpauthUri(secret, useVisitor().user.email)} />
        <p class="secret">
          <code>{secret}</code>
          <CopyButton text={secret} label="secret" />
        </p>
        <CodeField hint="The six digits that the app shows now." />
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

function RecoveryCodes({ title, codes }: { title: string; codes: readonly string[] }) {
  const text = codes.join('\n');
  return (
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
    </Gate>
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
