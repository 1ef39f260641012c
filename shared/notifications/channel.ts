import { type AuditAction, writeAudit } from '../audit/audit-log.ts';
import type { ServiceSettings } from '../platform/config.ts';
import type { Database, DatabaseTransaction, NotificationChannel, Stores } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { changeOrganization } from '../platform/organization.ts';
import { checkOutgoingUrl } from '../platform/outgoing/outgoing-url.ts';
import type { SecretBox } from '../platform/secrets/secrets.ts';
import { channelTest } from './kinds.ts';

interface Owner {
  organizationId: string;
  environment: Environment;
}

type Change = Owner & { actor: string };

/** The channel of an environment; null without one. */
export async function findChannel(
  db: Database | DatabaseTransaction,
  { organizationId, environment }: Owner,
): Promise<NotificationChannel | null> {
  const where = { organizationId_environment: { organizationId, environment } };
  return await db.notificationChannel.findUnique({ where });
}

/**
 * Sets or replaces the incoming webhook that notifications of an environment are posted to.
 * @throws ServiceError validation_error for the URL.
 */
export async function setChannel(
  { db, clock, secrets, settings }: Stores & { secrets: SecretBox; settings: ServiceSettings },
  { url, ...change }: Change & { url: string },
): Promise<void> {
  const problem = checkOutgoingUrl(url, settings.NODE_ENV === 'production');
  if (problem !== null) throw new ServiceError('validation_error', `url: ${problem}.`);
  const { organizationId, environment } = change;
  const { host } = new URL(url);
  const now = clock.now();
  await changeOrganization(db, organizationId, async (tx) => {
    const id = (await findChannel(tx, change))?.id ?? newId('chn');
    const { bytes: encryptedUrl, keyId: encryptionKeyId } = secrets.seal(url, channelContext(id));
    const columns = { encryptedUrl, encryptionKeyId, host, failingSince: null, goneAt: null, updatedAt: now };
    const create = { id, organizationId, environment, ...columns };
    await tx.notificationChannel.upsert({ where: { id }, create, update: columns });
    await audit(tx, change, 'notification_channel.set', { id, host }, now);
  });
}

/** Removes the channel of an environment. What waits for it is not sent. */
export async function removeChannel(deps: Stores, change: Change): Promise<void> {
  await changeChannel(deps, change, 'notification_channel.removed', async (tx, { id }) => {
    await tx.notificationChannel.delete({ where: { id } });
  });
}

/** Asks a worker to send a test to the channel of an environment, at most one a second. */
export async function requestChannelTest(deps: Stores, change: Change): Promise<void> {
  await changeChannel(deps, change, 'notification_channel.tested', async (tx, channel) => {
    const { id, organizationId, environment } = channel;
    await tx.$executeRaw`
      INSERT INTO notification (id, kind, target, since, recipient, organization_id, environment, due_at, created_at)
      SELECT new_type_id('ntf', moment), ${channelTest}, ${id}, date_trunc('second', moment), ${id}, ${organizationId},
        ${environment}::environment, moment, moment
      FROM (SELECT service_time() AS moment) AS clock
      ON CONFLICT DO NOTHING`;
  });
}

/** The last test of a channel: when it was accepted, and how often it was tried. Null without one. */
export async function lastChannelTest(
  db: Database,
  { id }: Pick<NotificationChannel, 'id'>,
): Promise<{ sentAt: Date | null; attempts: number } | null> {
  return await db.notification.findFirst({
    where: { kind: channelTest, target: id },
    orderBy: { since: 'desc' },
    select: { sentAt: true, attempts: true },
  });
}

async function changeChannel(
  { db, clock }: Stores,
  change: Change,
  action: AuditAction,
  carryOut: (tx: DatabaseTransaction, channel: NotificationChannel) => Promise<void>,
): Promise<void> {
  await changeOrganization(db, change.organizationId, async (tx) => {
    const channel = await findChannel(tx, change);
    if (channel === null) throw new ServiceError('not_found', 'No notification channel is set up.');
    await carryOut(tx, channel);
    await audit(tx, change, action, channel, clock.now());
  });
}

async function audit(
  tx: DatabaseTransaction,
  { organizationId, environment, actor }: Change,
  action: AuditAction,
  { id, host }: Pick<NotificationChannel, 'id' | 'host'>,
  now: Date,
): Promise<void> {
  const detail = { environment, host };
  await writeAudit(tx, { organizationId, actor, action, target: id, detail }, now);
}

type SealedUrl = Pick<NotificationChannel, 'id' | 'encryptedUrl' | 'encryptionKeyId'>;

/** @throws SecretUnreadableError for an unknown encryption key. */
export function openChannelUrl(
  secrets: SecretBox,
  { id, encryptedUrl: bytes, encryptionKeyId: keyId }: SealedUrl,
): string {
  return secrets.open({ keyId, bytes }, channelContext(id));
}

/** What the URL of a channel is encrypted for. */
export function channelContext(id: string): string {
  return `notification-channel/${id}`;
}
