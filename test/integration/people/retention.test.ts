import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { expireInvitations, expireSessions } from '#worker/schedule/retention.ts';
import { newEmail } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

const digest = () => Uint8Array.from(createHash('sha256').update(randomBytes(16)).digest());
const ago = (ms: number) => new Date(Date.now() - ms);

async function storeSessions(count: number, expiresAt: Date): Promise<void> {
  const times = { createdAt: ago(dayMs), lastSeenAt: ago(dayMs), expiresAt };
  const user = { id: newId('usr'), email: newEmail(), passwordHash: 'none' };
  const { id: userId } = await service.deps.db.user.create({ data: user });
  const row = () => ({ id: newId('ses'), hash: digest(), userId, data: {}, ...times });
  await service.deps.db.session.createMany({ data: Array.from({ length: count }, row) });
}

test('deletes all expired sessions and no others', async () => {
  await storeSessions(2_500, ago(1));
  await storeSessions(3, new Date(Date.now() + hourMs));
  await expireSessions(service.deps);
  expect(await service.deps.db.session.count()).toBe(3);
});

test('deletes sign-in failures after a day, not earlier', async () => {
  const { db } = service.deps;
  const row = (lastFailedAt: Date) => ({ subject: digest(), failures: 3, lastFailedAt });
  await db.lockout.createMany({ data: [row(ago(dayMs + hourMs)), row(ago(dayMs - hourMs))] });
  await expireSessions(service.deps);
  expect(await db.lockout.count()).toBe(1);
});

test('deletes invitations 90 days after they expire, not earlier', async () => {
  const { db } = service.deps;
  const { id: organizationId } = service.organization;
  const row = (email: string, expiresAt: Date, acceptedAt: Date | null = null) => ({
    ...{ id: newId('inv'), organizationId, email, role: 'viewer' as const, tokenHash: digest() },
    ...{ invitedBy: 'test', createdAt: expiresAt, expiresAt, acceptedAt },
  });
  const [old, recent] = [ago(91 * dayMs), ago(89 * dayMs)];
  await db.invitation.createMany({
    data: [row('a@example.com', old), row('b@example.com', old, old), row('c@example.com', recent)],
  });
  await expireInvitations(service.deps);
  expect((await db.invitation.findMany()).map(({ email }) => email)).toEqual(['c@example.com']);
});
