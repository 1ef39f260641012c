import type { Dependencies } from '#shared/dependencies.ts';
import { kindsByRole } from '#shared/notifications/kinds.ts';
import {
  type KnownOccasion,
  noteOccasions,
  type Occasion,
  readOccasions,
} from '#shared/notifications/occasions.ts';
import {
  type ClaimedNotification,
  claimNotifications,
  endMessage,
  retryMessage,
} from '#shared/notifications/outbox.ts';
import { composeMessage } from './compose-message.ts';
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
        const known = new Map((await readOccasions(deps.db, claimed)).map((each) => [nameOf(each), each]));
        const messages = new Set(claimed.map(({ messageId }) => messageId));
        const rowsOf = (message: string) => claimed.filter(({ messageId }) => messageId === message);
        await Promise.all([...messages].map((id) => sendMessage(deps, mailer, rowsOf(id), known)));
      }
    },
    close: () => mailer.close(),
  };
}

function nameOf({ kind, target, since }: Occasion): string {
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
  const occasions = rows.flatMap((row) => known.get(nameOf(row)) ?? []);
  if (email === null || occasions.length === 0) return await endMessage(db, messageId, false);
  try {
    await mailer.send(email, composeMessage(occasions, first, settings.PUBLIC_URL ?? ''), messageId);
  } catch (error) {
    log.warn({ err: error, messageId }, 'a mail could not be sent; it will be tried again');
    return await retryMessage(db, messageId);
  }
  await endMessage(db, messageId, true);
}
