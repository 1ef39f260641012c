import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import {
  findChannel,
  lastChannelTest,
  removeChannel,
  requestChannelTest,
  setChannel,
} from '#shared/notifications/channel.ts';
import type { NotificationChannel } from '#shared/platform/database.ts';
import { Submit } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Fields } from '../../components/fields.tsx';
import { CsrfField, Form, type FormState } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { entered, validationProblemsOf } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/notifications';
const formSchema = z.object({
  url: z.string().meta({
    title: 'Webhook URL',
    description:
      'Of an incoming webhook of Slack, or of one that takes the same messages. It is not shown again.',
    format: 'password',
  }),
});

/** `/settings/notifications`: the channel that notifications of the environment are posted to. */
export function channelPages(scope: Api, deps: ApiDependencies): void {
  const { db, settings } = deps;
  const show = async (reply: FastifyReply, context: Context, form?: FormState) => {
    const channel = await findChannel(db, context.owner);
    const lastTest = channel === null ? null : await lastChannelTest(db, channel);
    const hasAddress = settings.PUBLIC_URL !== null;
    return sendPage(reply, <ChannelPage {...{ context, channel, lastTest, hasAddress, form }} />);
  };
  const done = (reply: FastifyReply, { base }: Context, word: Parameters<typeof doneAt>[1]) =>
    reply.redirect(doneAt(`${base}${path}`, word), 303);

  scope.get(path, { config: { role: 'admin' } }, (request, reply) => show(reply, contextOf(request)));

  scope.post(path, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const context = contextOf(request);
    const { owner, actor } = context;
    try {
      await setChannel(deps, { ...owner, actor, url: entered(request.body, 'url').trim() });
    } catch (error) {
      const problems = validationProblemsOf(error, ['url']);
      return await show(reply.code(400), context, { body: {}, problems });
    }
    return done(reply, context, 'channel-saved');
  });

  scope.post(`${path}/test`, { config: { role: 'admin' } }, async (request, reply) => {
    const context = contextOf(request);
    await requestChannelTest(deps, { ...context.owner, actor: context.actor });
    return done(reply, context, 'channel-tested');
  });

  scope.post(`${path}/remove`, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const context = contextOf(request);
    await removeChannel(deps, { ...context.owner, actor: context.actor });
    return done(reply, context, 'channel-removed');
  });
}

interface ChannelProps {
  context: Context;
  channel: NotificationChannel;
  lastTest: Awaited<ReturnType<typeof lastChannelTest>>;
}

interface PageProps extends Omit<ChannelProps, 'channel'> {
  channel: NotificationChannel | null;
  /** Whether the service knows its own address, for links. */
  hasAddress: boolean;
  form: FormState | undefined;
}

function ChannelPage({ context, channel, lastTest, hasAddress, form }: PageProps) {
  return (
    <SettingsFrame context={context} page="notifications">
      {hasAddress ? null : (
        <Notice tone="bad">
          Nothing is posted: the service does not know its own address. Ask its operator to set it.
        </Notice>
      )}
      {channel === null ? null : <CurrentChannel {...{ context, channel, lastTest }} />}
      <Form
        csrfToken={context.csrfToken}
        to={`${context.base}${path}`}
        title={channel === null ? 'Channel' : 'Replace channel'}
        submit="Save"
        form={form}
      >
        <p>
          The channel gets approvals, what needs attention, disabled webhook endpoints and new API keys of{' '}
          {context.owner.environment}. Everyone who reads it sees amounts and links.
        </p>
        <Fields schema={formSchema} form={form} />
      </Form>
    </SettingsFrame>
  );
}

function CurrentChannel({ context, channel, lastTest }: ChannelProps) {
  return (
    <Card id="channel" title="Channel">
      <Facts
        facts={[
          ['Host', channel.host],
          ['Set', <Moment key="set" at={channel.updatedAt} />],
          ['Last test', lastTest === null ? null : <TestResult key="test" {...lastTest} />],
        ]}
      />
      <div class="row">
        <form method="post" action={`${context.base}${path}/test`}>
          <CsrfField token={context.csrfToken} />
          <Submit>Send a test</Submit>
        </form>
        <Confirm
          id="remove"
          action="Remove"
          title="Remove channel?"
          kind="danger"
          context={context}
          to={`${path}/remove`}
        >
          <p>What waits to be posted is not sent.</p>
        </Confirm>
      </div>
    </Card>
  );
}

function TestResult({ sentAt, attempts }: NonNullable<ChannelProps['lastTest']>) {
  if (sentAt === null) return <>{attempts === 0 ? 'Waiting to be sent' : 'Not accepted yet'}</>;
  return (
    <>
      Accepted <Moment at={sentAt} />
    </>
  );
}
