import type { FastifyRequest } from 'fastify';
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
import { Form, Post } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { page } from '../../http/page.ts';
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
  const read = async (request: FastifyRequest) => {
    const channel = await findChannel(deps.db, contextOf(request).owner);
    const lastTest = channel && (await lastChannelTest(deps.db, channel));
    return { channel, lastTest, hasAddress: deps.settings.PUBLIC_URL !== null };
  };
  const channel = page(scope, path, 'admin', read, ChannelPage);
  channel.form(path, confirmed('admin'), schema, async (request, { url }) => {
    await setChannel(deps, { ...actingIn(request), url });
    return 'channel-saved';
  });
  channel.button(`${path}/test`, 'admin', async (request) => {
    await requestChannelTest(deps, actingIn(request));
    return 'channel-tested';
  });
  channel.button(`${path}/remove`, confirmed('admin'), async (request) => {
    await removeChannel(deps, actingIn(request));
    return 'channel-removed';
  });
}

interface ChannelProps {
  channel: NotificationChannel | null;
  lastTest: Awaited<ReturnType<typeof lastChannelTest>>;
  /** Whether the service knows its own address, for links. */
  hasAddress: boolean;
}

function ChannelPage({ channel, lastTest, hasAddress }: ChannelProps) {
  return (
    <SettingsFrame page="notifications">
      {hasAddress ? null : (
        <Notice tone="bad">
          No notifications are posted, because this service has no public URL. Ask its operator to set one.
        </Notice>
      )}
      {channel && <CurrentChannel channel={channel} lastTest={lastTest} />}
      <Form to={path} title={channel === null ? 'Channel' : 'Replace channel'} submit="Save" schema={schema}>
        <p>
          The channel is notified of approvals, refunds and accounts that need attention, disabled webhook
          endpoints and new API keys in {useMember().environment}. Everyone in it sees amounts and links.
        </p>
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
          ['Gone since', channel.goneAt && <Moment key="gone" at={channel.goneAt} />],
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
