import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { newId, newRequestId } from '#shared/platform/ids.ts';
import { retention } from '#worker/schedule/retention.ts';
import { newEmail } from '../../support/people.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0, settings: { WEBHOOK_RETENTION_DAYS: 10 } });
const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

const digest = () => Uint8Array.from(createHash('sha256').update(randomBytes(16)).digest());
const ago = (ms: number) => new Date(Date.now() - ms);

async function accountId(): Promise<string> {
  const { organization } = service;
  const where = { organizationId: organization.id, environment: 'test', processor: 'stripe' } as const;
  return (await service.deps.db.processorAccount.findFirstOrThrow({ where })).id;
}

async function storeEvents(count: number, receivedAt: Date): Promise<void> {
  const account = await accountId();
  await service.deps.db.processorEvent.createMany({
    data: Array.from({ length: count }, () => {
      return { accountId: account, externalEventId: randomUUID(), type: 'refund.updated', receivedAt };
    }),
  });
}

test('a worker deletes events after 30 days, however many there are, and no sooner', async () => {
  const { db } = service.deps;
  const now = Date.now();
  await storeEvents(2_500, new Date(now - 30 * dayMs - 60_000));
  await storeEvents(3, new Date(now - 30 * dayMs + 60_000));
  const old = { receivedAt: { lt: new Date(now - 30 * dayMs) } };
  const worker = service.startWorker();
  await waitFor(
    'the old events to be gone',
    async () => (await db.processorEvent.count({ where: old })) === 0,
  );
  await worker.close();
  expect(await db.processorEvent.count()).toBe(3);
});

test('retention stops between two statements when the worker closes', async () => {
  const { db } = service.deps;
  await storeEvents(1_001, ago(31 * dayMs));
  await retention.expireProcessorEvents({ ...service.deps, closing: AbortSignal.abort() });
  expect(await db.processorEvent.count({ where: { receivedAt: { lt: ago(30 * dayMs) } } })).toBe(1);
  await retention.expireProcessorEvents(service.deps);
});

test('deletes sessions, sign-in failures and invitations when they no longer count, not earlier', async () => {
  const { db } = service.deps;
  const { id: userId } = await db.user.create({
    data: { id: newId('usr'), email: newEmail(), passwordHash: 'none' },
  });
  const session = (expiresAt: Date) => {
    const times = { createdAt: ago(dayMs), lastSeenAt: ago(dayMs), expiresAt };
    return { id: newId('ses'), hash: digest(), userId, data: {}, ...times };
  };
  await db.session.createMany({ data: [session(ago(1)), session(ago(-hourMs))] });
  const failure = (lastFailedAt: Date) => ({ subject: digest(), failures: 3, lastFailedAt });
  await db.lockout.createMany({ data: [failure(ago(dayMs + hourMs)), failure(ago(dayMs - hourMs))] });
  const invitation = (expiresAt: Date, acceptedAt: Date | null = null) => ({
    ...{
      id: newId('inv'),
      organizationId: service.organization.id,
      email: newEmail(),
      role: 'viewer' as const,
    },
    ...{ tokenHash: digest(), invitedBy: 'test', createdAt: expiresAt, expiresAt, acceptedAt },
  });
  const [old, recent] = [ago(91 * dayMs), ago(89 * dayMs)];
  await db.invitation.createMany({ data: [invitation(old), invitation(old, old), invitation(recent)] });
  await retention.expireSessions(service.deps);
  await retention.expireInvitations(service.deps);
  expect([await db.session.count(), await db.lockout.count()]).toEqual([1, 1]);
  expect(await db.invitation.findMany()).toMatchObject([{ expiresAt: recent }]);
});

test('deletes failed requests after 7 days, not earlier', async () => {
  const { db } = service.deps;
  const { id: organizationId } = service.organization;
  const request = {
    organizationId,
    environment: 'test' as const,
    apiKeyId: 'key_1',
    operation: '',
    path: '',
  };
  const refusal = { status: 400, code: 'validation_error', message: '' };
  for (const createdAt of [ago(7 * dayMs + hourMs), ago(7 * dayMs - hourMs)]) {
    await db.failedRequest.create({ data: { ...request, ...refusal, id: newRequestId(), createdAt } });
  }
  await retention.expireFailedRequests(service.deps);
  const [kept, ...others] = await db.failedRequest.findMany();
  expect([kept?.createdAt.getTime(), others]).toEqual([
    expect.toSatisfy((at) => at > ago(7 * dayMs).getTime()),
    [],
  ]);
});

describe('webhooks to endpoints', () => {
  beforeEach(async () => {
    await service.deps.db.webhookDelivery.deleteMany();
  });

  const keptIds = async () => {
    const kept = await service.deps.db.webhookDelivery.findMany({ orderBy: { createdAt: 'asc' } });
    return kept.map(({ id }) => id);
  };

  test('deletes deliveries that ended after the days of the setting and no sooner', async () => {
    const { id } = await newEndpoint(service);
    await storeDelivery(service, id, { createdAt: ago(10.1 * dayMs) });
    const due = { status: 'pending', nextAttemptAt: ago(-1 * dayMs), createdAt: ago(11 * dayMs) } as const;
    const kept = [
      await storeDelivery(service, id, due),
      await storeDelivery(service, id, { status: 'succeeded', createdAt: ago(9.9 * dayMs) }),
    ];
    await retention.expireWebhooks(service.deps);
    expect(await keptIds()).toEqual(kept.map((each) => each.id));
    expect(await service.deps.db.webhookEndpoint.count({ where: { id } })).toBe(1);
  });

  test('deletes a deleted endpoint with all its deliveries, however many there are', async () => {
    const [gone, other] = [await newEndpoint(service), await newEndpoint(service)];
    const row = {
      endpointId: gone.id,
      type: 'refund.failed',
      status: 'failed',
      createdAt: new Date(),
    } as const;
    await service.deps.db.webhookDelivery.createMany({
      data: Array.from({ length: 2_300 }, () => ({ ...row, id: newId('del'), eventId: newId('evt') })),
    });
    const { id: keptId } = await storeDelivery(service, other.id);
    await retention.expireWebhooks(service.deps);
    expect(await keptIds()).toHaveLength(2_301);
    expect((await service.call('DELETE', `/v1/webhook-endpoints/${gone.id}`)).status).toBe(200);
    await retention.expireWebhooks(service.deps);
    expect(await keptIds()).toEqual([keptId]);
    const left = await service.deps.db.webhookEndpoint.findMany({ select: { id: true } });
    expect(left.map(({ id }) => id)).not.toContain(gone.id);
    expect(left.map(({ id }) => id)).toContain(other.id);
  });
});
