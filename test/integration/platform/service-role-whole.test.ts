import { afterAll, describe, expect, test } from 'vitest';
import { prepareDatabase } from '#prisma/prepare-database.ts';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { openLog } from '#shared/platform/log.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { openRefundWork } from '#worker/advance/refund-work.ts';
import { openWebhookSender } from '#worker/deliver/deliver-webhook.ts';
import { scheduledTasks } from '#worker/start-workers.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { madeBeforeTests } from '../../support/made-before-tests.ts';
import { adminCliOf, ownerCliOf } from '../../support/processes/admin-cli.ts';
import { reconcile } from '../../support/processors/reconciliation.ts';
import { webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { untilReviewed } from '../../support/refunds/refund-work.ts';
import { startService } from '../../support/service.ts';
import { queueBackends } from '../../support/stores/backends.ts';
import { query } from '../../support/stores/database-client.ts';
import { useOwnedDatabase } from '../../support/stores/owned-database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useReceivers } from '../../support/webhooks/receivers.ts';

// Every step of the service, so that no right is missing. The owner of the database is no superuser, as in production.
describe.each(queueBackends)(
  'the whole service under a role that owns nothing, queues on $name',
  (backend) => {
    const database = useOwnedDatabase();
    const logged: { level: number; msg: string }[] = [];
    const service = madeBeforeTests(
      'The service',
      async () => {
        const { ownerUrl, serviceUrl } = database;
        await prepareDatabase({ ownerUrl, serviceUrl, redisUrl: backend.redisUrl, log: () => {} });
        const log = openLog('info', 'test', { write: (line) => logged.push(JSON.parse(line)) });
        return await startService({ databaseUrl: ownerUrl, serviceUrl, backend, overrides: { log } });
      },
      (started) => started.close(),
    );
    const webhooks = useWebhooks(service);
    const newReceiver = useReceivers();
    afterAll(() => expect(logged.filter(({ level }) => level >= 40)).toEqual([]));

    const create = async (transactionId: string, amount = 2_500): Promise<string> => {
      const body = { transactionId, amount, reason: 'other' };
      const headers = { 'idempotency-key': transactionId };
      const created = await service.call('POST', '/v1/refunds', { body, headers });
      expect(created.status, JSON.stringify(created.body)).toBe(200);
      return created.body.data.id;
    };

    test('completes a refund, receives the webhooks of its processor and sends its own', async () => {
      await service.sandbox.settings({ autoSettleMs: 0 });
      await webhooks.connectSandbox();
      const receiver = await newReceiver();
      const endpoint = await service.call('POST', '/v1/webhook-endpoints', { body: { url: receiver.url } });
      const id = await create(await newPayment(service));
      const refund = await untilStatus(service, id, 'completed');
      await waitFor('the last webhook', () =>
        receiver.received.some(({ event }) => event.type === 'refund.completed'),
      );
      await webhooks.disconnectSandbox();
      const late = webhookAbout('stripe', { ...reportOf(refund), processorStatus: 'pending' });
      expect((await webhooks.send('stripe', late)).status).toBe(200);
      expect(await webhooks.events()).toMatchObject([{ refundId: id }]);
      await untilReviewed(service, id);
      const feed = await service.call('GET', '/v1/events');
      expect(feed.body.data.map(({ type }: { type: string }) => type)).toEqual([
        'refund.created',
        'refund.completed',
      ]);
      expect((await service.call('DELETE', `/v1/webhook-endpoints/${endpoint.body.data.id}`)).status).toBe(
        200,
      );
    });

    test('approves, rejects and cancels refunds', async () => {
      const { id: organizationId } = service.organization;
      const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { api: 1_000 } }] };
      await setPolicies(service.deps, { organizationId, file, actor: 'test' });
      const actor = 'cli:approver';
      const approver = { organizationId, environment: 'test', actor, scopes: ['refunds:approve'] } as const;
      const { plaintext: key } = await createApiKey(service.deps, {
        ...approver,
        scopes: [...approver.scopes],
      });
      const approved = await create(await newPayment(service));
      expect((await service.call('POST', `/v1/refunds/${approved}/approve`, { key })).status).toBe(200);
      await untilStatus(service, approved, 'completed');
      const rejected = await create(await newPayment(service));
      expect((await service.call('POST', `/v1/refunds/${rejected}/reject`, { key })).status).toBe(200);
      const cancelled = await create(await newPayment(service));
      expect((await service.call('POST', `/v1/refunds/${cancelled}/cancel`)).status).toBe(200);
      await expectInvariants(service);
    });

    test('reconciles, and runs every scheduled task', async () => {
      for (const processor of ['stripe', 'braintree'] as const) {
        expect((await reconcile(service, processor)).run.failure).toBeNull();
      }
      const settings = { ...service.settings, RECONCILIATION_INTERVAL_MS: 1 };
      const refunds = new Map([['stripe', openRefundWork(service.deps, 'stripe')]]);
      const tasks = scheduledTasks({ ...service.deps, settings }, refunds, openWebhookSender(service.deps));
      expect(tasks.length).toBeGreaterThan(8);
      for (const task of tasks) await task.run(new AbortController().signal);
    });

    test('shows every page of the dashboard that its pages link to, and changes settings there', async () => {
      const { visitor } = await signInMember(service, 'owner');
      const open = [`/dashboard/${service.organization.id}/test`, '/dashboard/queues/'];
      const seen = new Set<string>();
      for (let path = open.pop(); path !== undefined; path = open.pop()) {
        seen.add(path);
        const page = await visitor.get(path);
        expect([path, page.status >= 500]).toEqual([path, false]);
        const links = [...page.text.matchAll(/href="(\/dashboard[^"#]*)"/g)].map(([, href = '']) =>
          href.replaceAll('&amp;', '&'),
        );
        // One page of each kind.
        const kinds = new Set([...seen, ...open].map(kindOf));
        for (const link of links) if (!kinds.has(kindOf(link)) && !/\/assets\//.test(link)) open.push(link);
      }
      expect(seen.size).toBeGreaterThan(15);
      const base = `/dashboard/${service.organization.id}/test/settings`;
      const invitation = { email: 'guest@example.com', role: 'viewer' };
      expect((await visitor.post(`${base}/members/invitations`, invitation)).status).toBeLessThan(400);
      expect((await visitor.post('/dashboard/sign-out')).status).toBe(303);
    });

    test('runs the commands of operators', async () => {
      const admin = adminCliOf(service);
      const { id } = service.organization;
      for (const args of [
        ['audit', 'export', '--organization', id],
        ['organization', 'create', '--name', 'Second'],
        ['user', 'add', '--organization', id, '--email', 'ada@example.com', '--role', 'viewer'],
        ['user', 'reset-password', '--organization', id, '--email', 'ada@example.com'],
        ['user', 'remove', '--organization', id, '--email', 'ada@example.com'],
        ['secrets', 'reencrypt'],
        ['refund', 'attention'],
      ]) {
        const { code, stderr } = await admin(args);
        expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
      }
    });

    test('leaves erasures to the owner, and says so', async () => {
      const { id } = await service.deps.db.refund.findFirstOrThrow();
      const erase = ['refund', 'erase', id];
      const refused = await adminCliOf(service)(erase);
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('the DATABASE_URL of the owner'),
      });
      expect((await ownerCliOf(service)(erase)).code).toBe(0);
    });

    test('connects only as that role', async () => {
      const { username } = new URL(database.serviceUrl);
      const connected = await query(
        database.ownerUrl,
        `SELECT DISTINCT usename FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL`,
      );
      expect(connected).toEqual([{ usename: username }]);
    });
  },
);

/** Ids and queries aside. */
function kindOf(path: string): string {
  return path.replace(/\?.*/, '').replace(/[a-z]+_[a-z0-9]{26}/g, 'ID');
}
