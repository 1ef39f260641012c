import { type Database, Prisma } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import type { channelTest, LinkKind, NotificationKind } from './kinds.ts';
import type { Occasion } from './occasions.ts';

/** A row of a message that this worker sends. */
export interface ClaimedNotification extends Omit<Occasion, 'kind'> {
  id: string;
  kind: NotificationKind | LinkKind | typeof channelTest;
  messageId: string;
  /** The organization is null for a password reset, the environment for an invitation as well. */
  organizationId: string | null;
  environment: Environment | null;
  organizationName: string | null;
  /** Null for a user who is disabled or no member any more, and when a link is of no use any more. */
  email: string | null;
  /** Null for people, and when the channel was removed. */
  channelId: string | null;
  encryptedUrl: Uint8Array<ArrayBuffer> | null;
  encryptionKeyId: string | null;
}

/** Longer than an attempt of all messages of a claim can last. */
const leaseMs = 5 * 60_000;

/** The first pause after a failed attempt; each further one is twice as long. */
const firstPauseMs = 30_000;

/** Within about three days. */
const mostAttempts = 14;

/** Whom messages are for. */
export type Recipients = 'people' | 'channels';

/**
 * Leases messages that are due, one for each recipient, so that a recipient with many does not delay others. What waits for one
 * recipient in one environment is one message from its first attempt on, so that it has the same id in every attempt. Several workers
 * may do so at the same time.
 * @param request.most how many messages.
 */
export async function claimNotifications(
  db: Database,
  { to, most }: { to: Recipients; most: number },
): Promise<ClaimedNotification[]> {
  return await db.$queryRaw<ClaimedNotification[]>`
    WITH clock AS MATERIALIZED (SELECT service_time() AS moment),
    due AS MATERIALIZED (
      SELECT recipient, organization_id, environment, message_id FROM (
        SELECT DISTINCT ON (n.recipient) n.* FROM notification AS n, clock
        WHERE n.due_at <= clock.moment AND starts_with(n.recipient, 'chn_') = ${to === 'channels'}
        ORDER BY n.recipient, n.due_at) AS first
      ORDER BY due_at LIMIT ${most}
    ), message AS MATERIALIZED (
      SELECT due.*, coalesce(due.message_id, new_type_id('msg', clock.moment)) AS name FROM due, clock
    ), locked AS MATERIALIZED (
      SELECT n.id, message.name, clock.moment FROM clock, message JOIN notification AS n
        ON n.recipient = message.recipient AND n.organization_id IS NOT DISTINCT FROM message.organization_id
          AND n.environment IS NOT DISTINCT FROM message.environment AND n.message_id IS NOT DISTINCT FROM message.message_id
      -- What gathers goes out with what is due.
      WHERE n.due_at IS NOT NULL AND (n.message_id IS NULL OR n.due_at <= clock.moment)
      FOR UPDATE OF n SKIP LOCKED
    ), leased AS (
      UPDATE notification AS n SET message_id = locked.name, attempts = n.attempts + 1,
        due_at = locked.moment + ${leaseMs} * interval '1 millisecond'
      FROM locked WHERE n.id = locked.id
      RETURNING n.*
    )
    SELECT n.id, n.kind, n.target, n.since, n.message_id AS "messageId", n.organization_id AS "organizationId", n.environment,
      o.name AS "organizationName", CASE n.kind
        WHEN 'invitation' THEN (
          SELECT email FROM invitation
          WHERE id = n.target AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > service_time())
        -- Later, the user no longer expects it.
        WHEN 'password_reset' THEN (
          SELECT email FROM "user"
          WHERE id = n.target AND disabled_at IS NULL AND n.since > service_time() - interval '1 hour')
        ELSE (
          SELECT u.email FROM membership AS m JOIN "user" AS u ON u.id = m.user_id
          WHERE m.user_id = n.recipient AND m.organization_id = n.organization_id AND u.disabled_at IS NULL)
      END AS email, c.id AS "channelId", c.encrypted_url AS "encryptedUrl", c.encryption_key_id AS "encryptionKeyId"
    FROM leased AS n LEFT JOIN organization AS o ON o.id = n.organization_id
    LEFT JOIN notification_channel AS c
      ON c.id = n.recipient AND c.organization_id = n.organization_id AND c.environment = n.environment
    ORDER BY n.since, n.id`;
}

/** Ends a message. @param wasSent false when it has nothing to say any more. */
export async function endMessage(db: Database, messageId: string, wasSent: boolean): Promise<void> {
  const ended = Prisma.sql`
    UPDATE notification SET due_at = NULL, sent_at = ${wasSent ? Prisma.sql`service_time()` : Prisma.sql`NULL`}
    WHERE id = ANY (${rowsOf(messageId)})`;
  if (!wasSent) await db.$executeRaw(ended);
  else
    await db.$executeRaw`
      WITH ended AS (${ended} RETURNING recipient), reached AS (
        UPDATE "user" SET mail_refused_at = NULL
        WHERE id = ANY (ARRAY(SELECT recipient FROM ended)) AND mail_refused_at IS NOT NULL)
      UPDATE notification_channel SET failing_since = NULL, gone_at = NULL
      WHERE id = ANY (ARRAY(SELECT recipient FROM ended)) AND (failing_since IS NOT NULL OR gone_at IS NOT NULL)`;
}

/**
 * Ends a message that its recipient cannot get, and marks the recipient: a user or an invitation whose address the mail server refused,
 * or a channel whose URL is gone. What else waits for such a channel ends too; later mails are tried, because the address may work again.
 */
export async function giveUpRecipient(db: Database, messageId: string): Promise<void> {
  await db.$executeRaw`
    WITH given_up AS (
      SELECT recipient FROM notification WHERE id = ANY (${rowsOf(messageId)}) LIMIT 1
    ), ended AS (
      UPDATE notification AS n SET due_at = NULL FROM given_up
      WHERE n.recipient = given_up.recipient AND n.due_at IS NOT NULL
        AND (n.message_id = ${messageId} OR starts_with(n.recipient, 'chn_'))
    ), of_user AS (
      UPDATE "user" SET mail_refused_at = coalesce(mail_refused_at, service_time()) FROM given_up WHERE id = recipient
    ), of_invitation AS (
      UPDATE invitation SET mail_refused_at = service_time() FROM given_up WHERE id = recipient
    )
    UPDATE notification_channel SET gone_at = coalesce(gone_at, service_time()), failing_since = NULL FROM given_up WHERE id = recipient`;
}

/** Schedules the next attempt of a message, or gives it up after the last. A channel counts as failing from the first failure on. */
export async function retryMessage(db: Database, messageId: string): Promise<void> {
  await db.$executeRaw`
    WITH retried AS (
      UPDATE notification SET due_at = CASE WHEN attempts < ${mostAttempts}
        THEN service_time() + ${firstPauseMs} * 2 ^ (attempts - 1) * interval '1 millisecond' END
      WHERE id = ANY (${rowsOf(messageId)})
      RETURNING recipient)
    UPDATE notification_channel SET failing_since = service_time()
    WHERE id = ANY (ARRAY(SELECT recipient FROM retried)) AND failing_since IS NULL AND gone_at IS NULL`;
}

/** The rows of a message that has not ended, which are few: the index of what is left to send finds them. */
function rowsOf(messageId: string): Prisma.Sql {
  return Prisma.sql`ARRAY(SELECT id FROM notification WHERE due_at IS NOT NULL AND message_id = ${messageId})`;
}
