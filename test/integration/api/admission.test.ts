import net from 'node:net';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { useExposedService } from '../../support/http/exposed-service.ts';
import { rawRequest } from '../../support/http/raw-http.ts';
import { holdCalls } from '../../support/processors/around-calls.ts';
import { signStripe, stripeEvent } from '../../support/processors/signed-webhooks.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import type { ApiAnswer, CallOptions, TestOrganization } from '../../support/service.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const elsewhere = { externalRefundId: 're_1', refundId: null, transactionId: 'ch_1' };

const statuses = async (answers: readonly Promise<ApiAnswer>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

const roomy = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });

describe('an organization', () => {
  const places = 10;
  // One connection: whoever kept it while it waits for a processor would stop all others.
  const settings = {
    MAX_REQUESTS_IN_PROGRESS: places,
    DATABASE_POOL_SIZE: 1,
    CREATE_WAIT_MS: 0,
  };
  const service = useService({ workers: 0, settings });
  let other: TestOrganization;
  let known: string;
  beforeAll(async () => {
    other = await service.addOrganization('Other');
    known = await newPayment(service);
    expect((await create(known)).status).toBe(200);
  });
  const create = async (transactionId: string, organization = service.organization) =>
    await service.call('POST', '/v1/refunds', {
      key: organization.keys.test.plaintext,
      body: { transactionId, amount: 1, reason: 'other' },
    });
  const connections = async () =>
    await promisify(service.app.server.getConnections.bind(service.app.server))();
  const list = async ({ keys }: TestOrganization) =>
    await service.call('GET', '/v1/refunds', { key: keys.test.plaintext });

  test('holds no place and no connection while its processor is slow', async () => {
    const processor = holdCalls(service, 'getPayment');
    const unread = await Promise.all(times(places, () => newPayment(service)));
    const waiting: Promise<ApiAnswer>[] = [];
    // One after the other: until the processor is asked, a request has a place.
    for (const transactionId of unread) {
      waiting.push(create(transactionId));
      await waitFor('the creation to wait', () => processor.made() === waiting.length);
      waiting.push(service.call('POST', '/v1/policies/check', { body: { transactionId } }));
      await waitFor('the policy check to wait', () => processor.made() === waiting.length);
    }
    expect((await create(known)).status).toBe(200);
    expect((await list(other)).status).toBe(200);
    processor.release();
    expect(new Set(await statuses(waiting))).toEqual(new Set([200]));
    expect((await list(service.organization)).status).toBe(200);
  });

  test('leaves connections for the keys and lists of others while its lists are slow', async () => {
    await withClient(service.databaseUrl, async (locker) => {
      await locker.query('BEGIN');
      // Only a list by the id of a payment reads it.
      await locker.query('LOCK TABLE payment_name');
      const slow = times(places / 2, (index) => service.call('GET', `/v1/refunds?transactionId=ch_${index}`));
      await waitForLock(locker);
      expect((await list(other)).status).toBe(200);
      await locker.query('COMMIT');
      await Promise.all(slow);
    });
  });

  test('gets the places back of uploads that ended while their key was looked up', async () => {
    const { hostname, port } = new URL(await service.url());
    await withClient(service.databaseUrl, async (locker) => {
      await locker.query('BEGIN');
      await locker.query('LOCK TABLE api_key');
      const uploads = times(places, () => net.connect(Number(port), hostname));
      for (const upload of uploads) {
        upload.write(
          'POST /v1/refunds HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n' +
            `Authorization: Bearer ${service.organization.keys.test.plaintext}\r\n\r\n{`,
        );
      }
      await waitForLock(locker);
      await waitFor('the uploads to arrive', async () => (await connections()) >= places);
      for (const upload of uploads) upload.destroy();
      await waitFor('the uploads to end', async () => (await connections()) === 0);
      await locker.query('COMMIT');
    });
    await waitFor('a list', async () => (await list(service.organization)).status === 200);
  });

  test('leaves connections for the pages of others while its pages are slow', async () => {
    const { visitor } = await signInMember(service, 'viewer');
    const { visitor: visitorOfOther } = await signInMember(service, 'viewer', other.id);
    const page = ({ id }: TestOrganization) => `/dashboard/${id}/test/refunds`;
    await withClient(service.databaseUrl, async (locker) => {
      await locker.query('BEGIN');
      await locker.query('LOCK TABLE payment_name');
      const slow = times(places, () => visitor.get(`${page(service.organization)}?q=ch_1`));
      await waitForLock(locker);
      expect((await visitorOfOther.get(page(other))).status).toBe(200);
      await locker.query('COMMIT');
      await Promise.all(slow);
    });
  });

  test('has room for other requests while more readers wait for events than requests may be in progress', async () => {
    const { feed } = service.app.deps;
    const { nextAfter } = (await service.call('GET', '/v1/events?limit=100')).body;
    const readers: Promise<ApiAnswer>[] = [];
    // One after the other: until a reader waits, it is in progress.
    while (readers.length <= places) {
      const headers = { prefer: 'wait=60' };
      readers.push(service.call('GET', `/v1/events?after=${nextAfter}`, { headers }));
      await waitFor('the reader to wait', () => feed.waiting === readers.length);
    }
    expect((await create(known)).status).toBe(200);
    // Its event ends their wait.
    expect(new Set(await statuses(readers))).toEqual(new Set([200]));
  });
});

describe('requests that wait', () => {
  const places = 10;
  const waits = 4;
  const settings = {
    MAX_REQUESTS_IN_PROGRESS: places,
    MAX_REQUESTS_WAITING: waits,
    CREATE_WAIT_MS: 0,
    RATE_LIMIT_PER_SECOND: 0,
  };
  const service = useService({ workers: 0, settings });
  const headers = { prefer: 'wait=60' };
  const create = async (transactionId: string, more: CallOptions = {}) =>
    await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 1, reason: 'other' },
      ...more,
    });

  /** Has readers of events wait, as many as an organization may. */
  async function fill(organization: TestOrganization) {
    const key = organization.keys.test.plaintext;
    const { nextAfter } = (await service.call('GET', '/v1/events?limit=100', { key })).body;
    const read = () =>
      service.call('GET', nextAfter === null ? '/v1/events' : `/v1/events?after=${nextAfter}`, {
        key,
        headers,
      });
    const { feed } = service.app.deps;
    const before = feed.waiting;
    const readers = times(waits / 2, read);
    await waitFor('the readers to wait', () => feed.waiting === before + readers.length);
    return { readers, read };
  }

  test('get the current state at once while as many of their organization wait', async () => {
    const { id } = (await create(await newPayment(service))).body.data;
    const { readers, read } = await fill(service.organization);
    const get = async () => await service.call('GET', `/v1/refunds/${id}`, { headers });
    for (const answer of [await read(), await get()]) {
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty('preference-applied');
    }
    const other = await service.addOrganization('Other');
    const ofOther = service.call('GET', '/v1/events', { key: other.keys.test.plaintext, headers });
    await waitFor('another organization to wait', () => service.app.deps.feed.waiting === waits / 2 + 1);
    const key = other.keys.test.plaintext;
    const made = [
      await create(await newPayment(service), { headers }),
      await create(await newPayment(service), { key }),
    ];
    expect(made.map(({ status, body }) => [status, body.data.status])).toEqual(
      times(2, () => [200, 'processing']),
    );
    expect(await statuses([...readers, ofOther])).toEqual([200, 200, 200]);
  });

  test('leave their organization half of the places, and no more while its statements wait', async () => {
    const known = await newPayment(service);
    expect((await create(known)).status).toBe(200);
    const other = await service.addOrganization('Other');
    const { test: ofOther } = other.keys;
    const { test: own, live } = service.organization.keys;
    const list = async ({ plaintext: key }: typeof own) =>
      (await service.call('GET', '/v1/refunds', { key })).status;
    const { readers } = await fill(service.organization);
    await withClient(service.databaseUrl, async (locker) => {
      await locker.query('BEGIN');
      await locker.query('LOCK TABLE payment');
      const stuck = times(places, () => create(known));
      await waitForLock(locker);
      expect([await list(own), await list(ofOther), await list(live)]).toEqual([503, 200, 200]);
      await locker.query('COMMIT');
      expect((await statuses(stuck)).filter((status) => status === 200)).toHaveLength(places / 2);
    });
    await Promise.all(readers);
    expect(await list(own)).toBe(200);
  });

  test('for a processor count as in progress while as many of their organization wait', async () => {
    const processor = holdCalls(service, 'getPayment');
    const known = await newPayment(service);
    const { readers } = await fill(service.organization);
    const creations: Promise<ApiAnswer>[] = [];
    while (creations.length < places / 2) {
      creations.push(create(await newPayment(service)));
      await waitFor('the creation to ask', () => processor.made() === creations.length);
    }
    expect((await create(known)).status).toBe(503);
    processor.release();
    expect(new Set(await statuses([...creations, ...readers]))).toEqual(new Set([200]));
    expect((await create(known)).status).toBe(200);
  });
});

test('slow lists of deliveries leave connections for the creations of others', async () => {
  const { settings, organization, call } = roomy;
  const other = await roomy.addOrganization('Other');
  const body = { transactionId: await newPayment(roomy), amount: 1, reason: 'other' };
  const endpoint = { url: 'https://example.com', events: ['*'] };
  const created = await call('POST', '/v1/webhook-endpoints', { body: endpoint });
  const list = `/v1/webhook-endpoints/${created.body.data.id}/deliveries`;
  await withClient(roomy.databaseUrl, async (locker) => {
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE webhook_delivery');
    const key = organization.keys.test.plaintext;
    const slow = times(settings.DATABASE_POOL_SIZE, () => call('GET', list, { key }));
    await waitForLock(locker);
    expect((await call('POST', '/v1/refunds', { key: other.keys.test.plaintext, body })).status).toBe(200);
    await locker.query('COMMIT');
    await Promise.all(slow);
  });
});

describe('requests without a key', () => {
  const places = 8;
  const exposed = useExposedService({
    MAX_REQUESTS_IN_PROGRESS: places,
    // Half of them are for senders of nothing verified.
    MAX_WEBHOOKS_IN_PROGRESS: 2 * places,
    MAX_PAGES_IN_PROGRESS: places,
    TRUSTED_PROXIES: ['loopback'],
  });
  const from = (address: string) => `X-Forwarded-For: ${address}`;
  const form = 'Content-Type: application/x-www-form-urlencoded';

  /** Sends the start of a request from each address. */
  const beginAll = (line: string, addresses: readonly string[], ...headers: string[]) => {
    let answers = '';
    for (const address of addresses) {
      const head = exposed.head(line, 'Content-Length: 50', from(address), ...headers);
      const socket = net.connect(exposed.port, '127.0.0.1', () => socket.write(rawRequest(head, '{')));
      socket
        .on('error', () => undefined)
        .on('data', (bytes) => {
          answers += bytes.toString();
        });
      onTestFinished(() => void socket.destroy());
    }
    return { refused: () => answers.split('HTTP/1.1 503 ').length - 1 };
  };

  test.each([
    ['webhooks', 'POST /webhooks/stripe/acc_1', 'Content-Type: application/json', 404],
    ['forms', 'POST /dashboard/sign-in', form, 401],
  ])('take no place of a client, nor one network all places for %s', async (_what, line, type, served) => {
    const headers = [type, 'Sec-Fetch-Site: same-origin'];
    const whole = async (address: string) => {
      const head = exposed.head(line, 'Content-Length: 2', from(address), ...headers);
      return (await exposed.send(rawRequest(head, '{}'))).status;
    };
    const one = beginAll(
      line,
      times(2 * places, () => '192.0.2.1'),
      ...headers,
    );
    await waitFor('one network to be refused', () => one.refused() === (3 * places) / 2);
    expect([await whole('192.0.2.1'), await whole('192.0.2.2')]).toEqual([503, served]);
    const addresses = times(places, (index) => `198.51.100.${index}`);
    const many = beginAll(line, addresses, ...headers);
    await waitFor('all networks to be refused', () => many.refused() === places / 2);
    expect(await whole('192.0.2.2')).toBe(503);
    const { call, app } = exposed.service;
    for (let count = 0; count < places; count += 1) {
      expect((await call('GET', '/v1/refunds')).status).toBe(200);
    }
    // Polled, because a store that does not answer a probe within two seconds is down.
    for (const path of ['/healthz', '/readyz'])
      await expect.poll(async () => (await app.inject(path)).statusCode, { message: path }).toBe(200);
  });

  /** Connects an account, as the first request about it does. */
  const connected = async (processor: string) => {
    const { deps, organization } = exposed.service;
    const where = { organizationId: organization.id, environment: 'test', processor } as const;
    const { id } = await deps.db.processorAccount.findFirstOrThrow({ where });
    await deps.connections.open(id);
    return id;
  };
  const postSigned = async (accountId: string) => {
    const { body, headers } = signStripe(JSON.stringify(stripeEvent(elsewhere)));
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const sent = [`Content-Length: ${Buffer.byteLength(body)}`, from('203.0.113.1'), ...lines];
    const head = exposed.head(`POST /webhooks/stripe/${accountId}`, ...sent);
    return (await exposed.send(rawRequest(head, body))).status;
  };
  const json = 'Content-Type: application/json';
  const networks = (count: number) => times(count, (index) => `203.0.113.${index + 1}`);

  test('take no place of webhooks for an account unless they name it', async () => {
    const id = await connected('stripe');
    const unknown = beginAll('POST /webhooks/stripe/acc_1', networks(2 * places), json);
    await waitFor('networks to be refused', () => unknown.refused() === places);
    expect([await postSigned('acc_1'), await postSigned(id)]).toEqual([503, 200]);
  });

  test('that name an account take no place of another account', async () => {
    const id = await connected('stripe');
    const other = await connected('braintree');
    const naming = beginAll(`POST /webhooks/stripe/${id}`, networks(2 * places), json);
    await waitFor('half to be refused', () => naming.refused() === places);
    const form = ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 2'];
    const head = exposed.head(`POST /webhooks/braintree/${other}`, from('203.0.113.1'), ...form);
    const { status } = await exposed.send(rawRequest(head, 'a='));
    expect([await postSigned(id), status]).toEqual([503, 400]);
  });
});
