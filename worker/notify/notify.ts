import type { Dependencies } from '#shared/dependencies.ts';
import { kindsByRole, type LinkKind, linkKinds, type NotificationKind } from '#shared/notifications/kinds.ts';
import { newLinkToken } from '#shared/notifications/links.ts';
import { type KnownOccasion, noteOccasions, readOccasions } from '#shared/notifications/occasions.ts';
import {
  type ClaimedNotification,
  claimNotifications,
  endMessage,
  retryMessage,
} from '#shared/notifications/outbox.ts';
import { composeLink } from './compose-link.ts';
import { composeMessage, type Message } from './compose-message.ts';
import { type Mailer, openMailer } from './mail.ts';

/** Tells people what they have to do or know. */
export interface Notifier {
  /** Notes what is new and sends what is due. Several workers may do so at the same time. */
  run(closing: AbortSignal): Promise<void>;
  close(): void;
}

/** Messages that are sent side by side. */
const mostAtOnce = 20;

/** Null without a mail server. */
export function openNotifier(deps: Pick<Dependencies, 'db' | 'log' | 'settings'>): Notifier | null {
  const mailer = openMailer(deps.settings);
  if (mailer === null) return null;
  return {
    async run(closing) {
      await noteOccasions(deps.db, kindsByRole);
      while (!closing.aborted) {
        const claimed = await claimNotifications(deps.db, mostAtOnce);
        if (claimed.length === 0) return;
        const known = new Map(
          (await readOccasions(deps.db, claimed.filter(isOccasion))).map((each) => [nameOf(each), each]),
        );
        const messages = new Set(claimed.map(({ messageId }) => messageId));
        const rowsOf = (message: string) => claimed.filter(({ messageId }) => messageId === message);
        await Promise.all([...messages].map((id) => sendMessage(deps, mailer, rowsOf(id), known)));
      }
    },
    close: () => mailer.close(),
  };
}

type Claimed<Kind> = ClaimedNotification & { kind: Kind };

function isLink(row: ClaimedNotification): row is Claimed<LinkKind> {
  return linkKinds.some((kind) => kind === row.kind);
}

function isOccasion(row: ClaimedNotification): row is Claimed<NotificationKind> {
  return !isLink(row);
}

function nameOf({ kind, target, since }: Pick<ClaimedNotification, 'kind' | 'target' | 'since'>): string {
  return `${kind} ${target} ${since.getTime()}`;
}

/** Sends what is still so of a message. @param known by `nameOf`. */
async function sendMessage(
  { db, log, settings }: Pick<Dependencies, 'db' | 'log' | 'settings'>,
  mailer: Mailer,
  rows: readonly ClaimedNotification[],
  known: ReadonlyMap<string, KnownOccasion>,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const { messageId, email } = first;
  const publicUrl = settings.PUBLIC_URL ?? '';
  try {
    const message = isLink(first)
      ? email !== null && (await linkMessage(db, first, publicUrl))
      : occasionMessage(rows, known, publicUrl);
    if (email === null || !message) return await endMessage(db, messageId, false);
    await mailer.send(email, message, messageId);
  } catch (error) {
    log.warn({ err: error, messageId }, 'a mail could not be sent; it will be tried again');
    return await retryMessage(db, messageId);
  }
  await endMessage(db, messageId, true);
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
  const [first] = rows;
  const occasions = rows.flatMap((row) => known.get(nameOf(row)) ?? []);
  if (first === undefined || occasions.length === 0) return null;
  const { organizationId, organizationName, environment } = first;
  if (organizationId === null || organizationName === null || environment === null) return null;
  return composeMessage(occasions, { organizationId, organizationName, environment }, publicUrl);
}
