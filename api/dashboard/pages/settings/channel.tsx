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
import { Card, Facts } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Fields } from '../../components/fields.tsx';
import { Form, Post } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import type { FormState } from '../../http/forms.ts';
import { changesOf } from '../../layout/changes.ts';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/notifications';
const schema = z.object({
  url: z.string().trim().meta({
    title: 'Webhook URL',
    description:
      "An incoming webhook of Slack, or one that accepts the same messages. It won't be shown again.",
    format: 'password',
  }),
});

/** `/settings/notifications`: the channel that notifications of the environment are posted to. */
export function channelPages(scope: Api, deps: ApiDependencies): void {
  const show = async (reply: FastifyReply, form?: FormState) => {
    const channel = await findChannel(deps.db, contextOf(reply.request).owner);
    const lastTest = channel && (await lastChannelTest(deps.db, channel));
    const hasAddress = deps.settings.PUBLIC_URL !== null;
    return reply.send(<ChannelPage {...{ channel, lastTest, hasAddress, form }} />);
  };

  scope.get(path, needs('admin'), (_request, reply) => show(reply));

  const change = changesOf(scope, path);
  const confirmed = needs('admin', 'confirmed');
  change(path, { ...confirmed, schema, again: show }, 'channel-saved', (request, { url }) =>
    setChannel(deps, { ...actingIn(request), url }),
  );
  change(`${path}/test`, needs('admin'), 'channel-tested', (request) =>
    requestChannelTest(deps, actingIn(request)),
  );
  change(`${path}/remove`, confirmed, 'channel-removed', (request) => removeChannel(deps, actingIn(request)));
}

interface ChannelProps {
  channel: NotificationChannel | null;
  lastTest: Awaited<ReturnType<typeof lastChannelTest>>;
  /** Whether the service knows its own address, for links. */
  hasAddress: boolean;
  form: FormState | undefined;
}

function ChannelPage({ channel, lastTest, hasAddress, form }: ChannelProps) {
  return (
    <SettingsFrame page="notifications">
      {hasAddress ? null : (
        <Notice tone="bad">
          No notifications are posted, because this service has no public URL. Ask its operator to set one.
        </Notice>
      )}
      {channel && <CurrentChannel channel={channel} lastTest={lastTest} />}
      <Form to={path} title={channel === null ? 'Channel' : 'Replace channel'} submit="Save" form={form}>
        <p>
          The channel is notified of approvals, refunds and accounts that need attention, disabled webhook
          endpoints and new API keys in {useMember().environment}. Everyone in it sees amounts and links.
        </p>
        <Fields schema={schema} form={form} />
      </Form>
    </SettingsFrame>
  );
}

type CurrentChannelProps = Pick<ChannelProps, 'lastTest'> & { channel: NotificationChannel };

function CurrentChannel({ channel, lastTest }: CurrentChannelProps) {
  return (
    <Card id="channel" title="Channel">
      <Facts
        facts={[
          ['Host', channel.host],
          ['Updated', <Moment key="updated" at={channel.updatedAt} />],
          ['Last test', lastTest && <TestResult key="test" {...lastTest} />],
        ]}
      />
      <div class="row">
        <Post to={`${path}/test`}>Send a test</Post>
        <Confirm id="remove" action="Remove" title="Remove channel?" kind="danger" to={`${path}/remove`}>
          <p>Pending notifications are not sent.</p>
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
