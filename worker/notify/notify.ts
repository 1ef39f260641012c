import type { Dependencies } from '#shared/dependencies.ts';
import { openChannelUrl } from '#shared/notifications/channel.ts';
import {
  channelTest,
  kindsByRole,
  kindsOfChannel,
  type LinkKind,
  linkKinds,
  type NotificationKind,
  notificationKinds,
} from '#shared/notifications/kinds.ts';
import { newLinkToken } from '#shared/notifications/links.ts';
import { type KnownOccasion, noteOccasions, readOccasions } from '#shared/notifications/occasions.ts';
import {
  type ClaimedNotification,
  claimNotifications,
  endMessage,
  giveUpRecipient,
  type Recipients,
  retryMessage,
} from '#shared/notifications/outbox.ts';
import { openTransport, type Transport } from '../deliver/transport.ts';
import type { Task } from '../schedule/schedule.ts';
import { composeLink, composeMessage, composeTest, type Message } from './compose-message.ts';
import { type Mailer, MailRefusedError, openMailer } from './mail.ts';
import { ChannelGoneError, postMessage } from './post-message.ts';

/** Sends notifications. */
export interface Notifier {
  /**
   * Note what is new, send what is due by mail, and post what is due to channels. They run side by side, so that a channel that does not
   * answer delays no mail. Several workers may run them at the same time.
   */
  tasks: readonly Task[];
  close(): Promise<void>;
}

/** How often new states are looked for, and messages are sent. */
const intervalMs = 5_000;

/** Messages that are sent side by side. */
const mostAtOnce = 20;

type NotifierDependencies = Pick<Dependencies, 'db' | 'log' | 'settings' | 'secrets'>;

/** What messages are sent with. */
interface Ways {
  /** Null without a mail server: channels alone get messages. */
  mailer: Mailer | null;
  transport: Transport;
}

/** Null while the service does not know its own address, which all links need. */
export function openNotifier(deps: NotifierDependencies): Notifier | null {
  const { NODE_ENV, PUBLIC_URL } = deps.settings;
  if (PUBLIC_URL === null) return null;
  const mailer = openMailer(deps.settings);
  const transport = openTransport({ isPublicOnly: NODE_ENV === 'production', proxies: deps.settings });
  const ways = { mailer, transport };
  const sending = (name: string, to: Recipients): Task => ({
    ...{ name, intervalMs },
    isDue: ({ notifications }) => notifications,
    run: (closing) => sendDue(deps, ways, to, closing),
  });
  const kinds = { ...(mailer === null ? {} : kindsByRole), ...kindsOfChannel };
  return {
    tasks: [
      { name: 'noteOccasions', intervalMs, run: () => noteOccasions(deps.db, kinds) },
      ...(mailer === null ? [] : [sending('sendMails', 'people')]),
      sending('postMessages', 'channels'),
    ],
    async close() {
      mailer?.close();
      await transport.close();
    },
  };
}

async function sendDue(
  deps: NotifierDependencies,
  ways: Ways,
  to: Recipients,
  closing: AbortSignal,
): Promise<void> {
  while (!closing.aborted) {
    const claimed = await claimNotifications(deps.db, { to, most: mostAtOnce });
    if (claimed.length === 0) return;
    const known = new Map(
      (await readOccasions(deps.db, claimed.filter(isOccasion))).map((each) => [nameOf(each), each]),
    );
    const messages = new Set(claimed.map(({ messageId }) => messageId));
    const rowsOf = (message: string) => claimed.filter(({ messageId }) => messageId === message);
    await Promise.all([...messages].map((id) => endOrRetry(deps, ways, rowsOf(id), known)));
  }
}

type Claimed<Kind> = ClaimedNotification & { kind: Kind };

function isLink(row: ClaimedNotification): row is Claimed<LinkKind> {
  return linkKinds.some((kind) => kind === row.kind);
}

function isOccasion(row: ClaimedNotification): row is Claimed<NotificationKind> {
  return notificationKinds.some((kind) => kind === row.kind);
}

function nameOf({ kind, target, since }: Pick<ClaimedNotification, 'kind' | 'target' | 'since'>): string {
  return `${kind} ${target} ${since.getTime()}`;
}

/** Sends what is still so, and records that. @param known by `nameOf`. */
async function endOrRetry(
  deps: NotifierDependencies,
  ways: Ways,
  [first, ...others]: readonly ClaimedNotification[],
  known: ReadonlyMap<string, KnownOccasion>,
): Promise<void> {
  if (first === undefined) return;
  const { messageId, channelId } = first;
  const send = wayTo(deps, ways, first);
  let message: Message | null = null;
  try {
    if (send !== null) message = await compose(deps, [first, ...others], known);
    if (message !== null) await send?.(message);
  } catch (error) {
    if (error instanceof MailRefusedError || error instanceof ChannelGoneError) {
      deps.log.warn({ reason: error.message, messageId }, 'a recipient of notifications was given up');
      return await giveUpRecipient(deps.db, messageId);
    }
    const what = channelId === null ? 'a mail could not be sent' : 'a channel did not accept a message';
    deps.log.warn({ err: error, messageId }, `${what}; it will be tried again`);
    return await retryMessage(deps.db, messageId);
  }
  await endMessage(deps.db, messageId, message !== null);
}

/** How the recipient of a notification gets a message; null without a recipient or a mail server. */
function wayTo(
  { secrets }: NotifierDependencies,
  { mailer, transport }: Ways,
  { email, messageId, channelId: id, encryptedUrl, encryptionKeyId }: ClaimedNotification,
): ((message: Message) => Promise<void>) | null {
  if (id !== null && encryptedUrl !== null && encryptionKeyId !== null) {
    const sealed = { id, encryptedUrl, encryptionKeyId };
    return async (message) => await postMessage(transport, openChannelUrl(secrets, sealed), message);
  }
  return mailer === null || email === null ? null : (message) => mailer.send(email, message, messageId);
}

/** Null when nothing is so any more. */
async function compose(
  { db, settings }: NotifierDependencies,
  rows: readonly [ClaimedNotification, ...ClaimedNotification[]],
  known: ReadonlyMap<string, KnownOccasion>,
): Promise<Message | null> {
  const publicUrl = settings.PUBLIC_URL ?? '';
  const [first] = rows;
  if (isLink(first)) return await linkMessage(db, first, publicUrl);
  const { organizationId, organizationName, environment } = first;
  if (organizationId === null || organizationName === null || environment === null) return null;
  const place = { organizationId, organizationName, environment };
  const occasions = rows.flatMap((row) => known.get(nameOf(row)) ?? []);
  if (occasions.length > 0) return composeMessage(occasions, place, publicUrl);
  return rows.some(({ kind }) => kind === channelTest) ? composeTest(place, publicUrl) : null;
}

const linkPages: Readonly<Record<LinkKind, string>> = {
  invitation: 'invitation',
  password_reset: 'password-reset',
};

async function linkMessage(
  db: Dependencies['db'],
  { kind, target, organizationName }: Claimed<LinkKind>,
  publicUrl: string,
): Promise<Message> {
  const token = await newLinkToken(db, { kind, target });
  return composeLink(kind, organizationName ?? '', `${publicUrl}/dashboard/${linkPages[kind]}/${token}`);
}
