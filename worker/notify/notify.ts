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
  retryMessage,
} from '#shared/notifications/outbox.ts';
import { openTransport, type Transport } from '../deliver/transport.ts';
import { composeLink, composeMessage, composeTest, type Message, type Place } from './compose-message.ts';
import { type Mailer, openMailer } from './mail.ts';
import { postMessage } from './post-message.ts';

/** Sends notifications. */
export interface Notifier {
  /** Notes what is new and sends what is due. Several workers may do so at the same time. */
  run(closing: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

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
  const transport = openTransport({ isPublicOnly: NODE_ENV === 'production' });
  const hasMail = mailer !== null;
  return {
    async run(closing) {
      await noteOccasions(deps.db, { ...(hasMail ? kindsByRole : {}), ...kindsOfChannel });
      while (!closing.aborted) {
        const claimed = await claimNotifications(deps.db, { most: mostAtOnce, hasMail });
        if (claimed.length === 0) return;
        const known = new Map(
          (await readOccasions(deps.db, claimed.filter(isOccasion))).map((each) => [nameOf(each), each]),
        );
        const messages = new Set(claimed.map(({ messageId }) => messageId));
        const rowsOf = (message: string) => claimed.filter(({ messageId }) => messageId === message);
        await Promise.all(
          [...messages].map((id) => endOrRetry(deps, { mailer, transport }, rowsOf(id), known)),
        );
      }
    },
    async close() {
      mailer?.close();
      await transport.close();
    },
  };
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

/** Sends a message, and records that. @param known by `nameOf`. */
async function endOrRetry(
  deps: NotifierDependencies,
  ways: Ways,
  rows: readonly ClaimedNotification[],
  known: ReadonlyMap<string, KnownOccasion>,
): Promise<void> {
  const [{ messageId, channelId } = { messageId: '', channelId: null }] = rows;
  const send = channelId === null ? sendMail : sendToChannel;
  let wasSent: boolean;
  try {
    wasSent = await send(deps, ways, rows, known);
  } catch (error) {
    const what = channelId === null ? 'a mail could not be sent' : 'a channel did not accept a message';
    deps.log.warn({ err: error, messageId }, `${what}; it will be tried again`);
    return await retryMessage(deps.db, messageId);
  }
  await endMessage(deps.db, messageId, wasSent);
}

/** Mails what is still so. @returns false when there is nothing to say, or no recipient. */
async function sendMail(
  { db, settings }: NotifierDependencies,
  { mailer }: Ways,
  rows: readonly ClaimedNotification[],
  known: ReadonlyMap<string, KnownOccasion>,
): Promise<boolean> {
  const [first] = rows;
  if (mailer === null || first === undefined || first.email === null) return false;
  const publicUrl = settings.PUBLIC_URL ?? '';
  const message = isLink(first)
    ? await linkMessage(db, first, publicUrl)
    : occasionMessage(rows, known, publicUrl);
  if (message !== null) await mailer.send(first.email, message, first.messageId);
  return message !== null;
}

/** Posts what is still so, or a test. @returns false when there is nothing to say. */
async function sendToChannel(
  { secrets, settings }: NotifierDependencies,
  { transport }: Ways,
  rows: readonly ClaimedNotification[],
  known: ReadonlyMap<string, KnownOccasion>,
): Promise<boolean> {
  const [{ channelId = null, encryptedUrl = null, encryptionKeyId = null } = {}] = rows;
  if (channelId === null || encryptedUrl === null || encryptionKeyId === null) return false;
  const publicUrl = settings.PUBLIC_URL ?? '';
  const test = placeOf(rows.find(({ kind }) => kind === channelTest));
  const message =
    occasionMessage(rows, known, publicUrl) ?? (test === null ? null : composeTest(test, publicUrl));
  if (message === null) return false;
  const url = openChannelUrl(secrets, { id: channelId, encryptedUrl, encryptionKeyId });
  await postMessage(transport, url, message);
  return true;
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

/** Null when nothing is so any more. */
function occasionMessage(
  rows: readonly ClaimedNotification[],
  known: ReadonlyMap<string, KnownOccasion>,
  publicUrl: string,
): Message | null {
  const occasions = rows.flatMap((row) => known.get(nameOf(row)) ?? []);
  const place = placeOf(rows[0]);
  return place === null || occasions.length === 0 ? null : composeMessage(occasions, place, publicUrl);
}

function placeOf(row: ClaimedNotification | undefined): Place | null {
  const { organizationId = null, organizationName = null, environment = null } = row ?? {};
  if (organizationId === null || organizationName === null || environment === null) return null;
  return { organizationId, organizationName, environment };
}
