import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { requestChannelTest, setChannel } from '#shared/notifications/channel.ts';
import { openLog } from '#shared/platform/log.ts';
import { openTelemetry } from '#shared/platform/telemetry/telemetry.ts';
import { useCompanySignIn } from '#test/support/company-sign-in/company-sign-in-stage.ts';
import { proxyResponses, startProxy, type TestProxy } from '#test/support/http/proxy-server.ts';
import { runTasks } from '#test/support/notifications/notification-stage.ts';
import { freePort } from '#test/support/processes/free-port.ts';
import { useScriptedServers } from '#test/support/processors/scripted-server.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { rowOf, untilCompleted } from '#test/support/refunds/refund-records.ts';
import { startCollector } from '#test/support/traces/collector.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { newEndpoint } from '#test/support/webhooks/api-endpoints.ts';
import { useReceivers } from '#test/support/webhooks/receivers.ts';
import { openNotifier } from '#worker/notify/notify.ts';

// The whole service behind a proxy that wants a password.

const password = 'pass-of-the-proxy';
const encoded = Buffer.from(`refunds:${password}`).toString('base64');
const port = await freePort();
const settings = { HTTP_PROXY: `http://refunds:${password}@127.0.0.1:${port}`, LOG_LEVEL: 'trace' as const };
let logged = '';
beforeAll(() => {
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    logged += text;
    return true;
  });
});
afterAll(() => void vi.restoreAllMocks());

const service = useService({ settings });
const company = useCompanySignIn(service);
const newReceiver = useReceivers();
const serve = useScriptedServers();

let proxy: TestProxy;
beforeEach(async () => {
  proxy = await startProxy(port);
});
afterEach(async () => {
  await proxy.close();
  await expectInvariants(service);
});

/** Where the proxy was asked to connect to. */
const authorities = () => new Set(proxy.connects.map(({ authority }) => authority));
const hostOf = (url: string) => new URL(url).host;

test.each(['stripe', 'braintree'])(
  '%s, webhook endpoints and channels are reached through it',
  async (processor) => {
    const [endpoint, channel] = [await newReceiver(), await newReceiver()];
    await newEndpoint(service, { url: endpoint.url, events: ['refund.completed'] });
    const { id } = await newRefund(service, { processor });
    await untilCompleted(service, [id]);
    await waitFor('the webhook', () => endpoint.received.length === 1);
    const place = { organizationId: service.organization.id, environment: 'test', actor: 'test' } as const;
    await setChannel(service.deps, { ...place, url: channel.url });
    await requestChannelTest(service.deps, place);
    const publicUrl = { ...service.settings, PUBLIC_URL: 'https://refunds.test' };
    const notifier = openNotifier({ ...service.deps, settings: publicUrl });
    if (notifier === null) throw new Error('There is a public URL.');
    await runTasks(notifier);
    notifier.close();
    expect(channel.received).toHaveLength(1);
    const urls = [service.sandboxUrl, endpoint.url, channel.url];
    expect([...authorities()]).toEqual(expect.arrayContaining(urls.map(hostOf)));
    expect(new Set(proxy.connects.map(({ authorization }) => authorization))).toEqual(
      new Set([`Basic ${encoded}`]),
    );
  },
);

test("a company's sign-in is reached through it", async () => {
  const visitor = company.newVisitor();
  expect((await company.signIn(visitor)).status).toBe(303);
  expect([...authorities()]).toContain(hostOf(company.provider.issuer));
});

test('a collector of traces is reached through it', async () => {
  const collector = await startCollector(serve);
  const log = openLog('silent', 'test');
  const endpoint = { ...service.settings, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const telemetry = await openTelemetry(endpoint, log, 'worker');
  await telemetry.refund('ref_1').run('work', async () => {});
  await telemetry.close();
  expect(collector.spans()).toMatchObject([{ name: 'work' }]);
  expect([...authorities()]).toContain(hostOf(collector.url));
});

test('a refund is tried again for as long as the proxy is down, and its password is logged nowhere', async () => {
  // Payments that were read before, so that nothing but the refund is left to send.
  const payments = [await newPayment(service), await newPayment(service, { processor: 'braintree' })];
  const refundAll = async () => {
    const refunds = [
      await newRefund(service, { transactionId: payments[0] ?? '' }),
      await newRefund(service, { transactionId: payments[1] ?? '', processor: 'braintree' }),
    ];
    return refunds.map(({ id }) => String(id));
  };
  await untilCompleted(service, await refundAll());
  await proxy.close();
  const ids = await refundAll();
  const endedAttempts = async (id: string) =>
    (await rowOf(service, id)).attempts.flatMap(({ outcome }) => outcome ?? []);
  const failTwice = async () => {
    for (const id of ids) {
      const before = await endedAttempts(id);
      const after = await waitFor('two more attempts', async () => {
        const outcomes = await endedAttempts(id);
        return outcomes.length >= before.length + 2 && outcomes;
      });
      expect(new Set(after)).toEqual(new Set(['unavailable']));
    }
  };
  await failTwice();
  proxy = await startProxy(port);
  proxy.respond = proxyResponses.refuse(407);
  await failTwice();
  const accounts = await service.deps.db.processorAccount.findMany();
  expect(accounts.filter(({ misconfiguredAt }) => misconfiguredAt)).toEqual([]);
  proxy.respond = (_client, open) => open();
  await untilCompleted(service, ids);
  const events = await service.deps.db.refundEvent.findMany({ where: { refundId: { in: ids } } });
  const texts =
    logged + JSON.stringify(events, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  expect(texts).toMatch(/PROXY_|ProxyError/);
  expect(logged).toMatch(new RegExp(`"refundId":"${ids[0]}"`));
  expect(texts).not.toContain(password);
  expect(texts).not.toContain(encoded);
});
