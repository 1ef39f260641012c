import { beforeAll, describe, expect, test } from 'vitest';
import type { RefundClient } from '#shared/client/index.ts';
import { connectClient } from '../../support/http/connect-client.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

// No worker: refunds change by these tests alone.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0, MAX_WAIT_MS: 2_000 } });
let transactionId: string;
beforeAll(async () => {
  transactionId = await newPayment(service, { amount: 1_000_000 });
});

/** The feed of an organization cannot be emptied, so each test has its own. */
async function newClient(options = {}): Promise<RefundClient> {
  const { keys } = await service.addOrganization('Another');
  return await connectClient(service, { apiKey: keys.test.plaintext, ...options });
}

async function createMany(client: RefundClient, count: number): Promise<string[]> {
  const refunds = Array.from({ length: count }, () =>
    client.refunds.create({ transactionId, amount: 1, reason: 'other' }),
  );
  return (await Promise.all(refunds)).map(({ id }) => id);
}

const collect = async <Item>(items: AsyncIterable<Item>) => {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
};

describe('refunds.all', () => {
  test('has each refund once, newest first, while others are created', async () => {
    const client = await newClient();
    const before = await createMany(client, 230);
    const seen: string[] = [];
    const times: string[] = [];
    const later: string[] = [];
    for await (const { id, createdAt } of client.refunds.all()) {
      seen.push(id);
      times.push(createdAt);
      if (seen.length % 50 === 0) later.push(...(await createMany(client, 7)));
    }
    const ofBefore = seen.filter((id) => !later.includes(id));
    expect(ofBefore.toSorted()).toEqual(before.toSorted());
    expect(new Set(seen).size).toBe(seen.length);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test('passes its filters on, and ends with an exact page', async () => {
    const client = await newClient();
    const ids = await createMany(client, 100);
    expect(await collect(client.refunds.all({ processor: 'stripe' }))).toHaveLength(100);
    const { id } = await client.refunds.cancel(ids[0] ?? '');
    expect(await collect(client.refunds.all({ status: 'cancelled' }))).toMatchObject([{ id }]);
  });

  test('throws when its signal is aborted, so that a part is not taken for all', async () => {
    const client = await newClient();
    await createMany(client, 101);
    const controller = new AbortController();
    const seen: string[] = [];
    const reading = async () => {
      for await (const { id } of client.refunds.all({ signal: controller.signal })) {
        seen.push(id);
        if (seen.length === 100) controller.abort();
      }
    };
    await expect(reading()).rejects.toThrow('aborted');
    expect(seen).toHaveLength(100);
  });
});

describe('events.all', () => {
  test('has each event once, in order, while refunds are created, and continues after any of them', async () => {
    const client = await newClient();
    const before = await createMany(client, 120);
    const later = [20, 20, 20, 20].map(() => createMany(client, 20));
    const read = async (after?: string) => {
      const controller = new AbortController();
      const ids: string[] = [];
      const refunds: string[] = [];
      for await (const event of client.events.all({ after, signal: controller.signal })) {
        ids.push(event.id);
        refunds.push(event.refundId);
        if (refunds.length === (after === undefined ? 200 : 150)) controller.abort();
      }
      return { ids, refunds };
    };
    const { ids, refunds } = await read();
    const all = [...before, ...(await Promise.all(later)).flat()];
    expect(refunds.toSorted()).toEqual(all.toSorted());
    expect((await read(ids[49])).ids).toEqual(ids.slice(50));
  });

  test('waits for events on an empty feed, has them when they happen, and passes its type on', async () => {
    const requests: string[] = [];
    const fetch: typeof globalThis.fetch = async (url, init) => {
      requests.push(String(url));
      return await globalThis.fetch(url, init);
    };
    const client = await newClient({ fetch });
    const controller = new AbortController();
    const events = client.events.all({ wait: 1, signal: controller.signal });
    const first = events.next();
    // One empty answer has come, and the next request waits.
    await expect.poll(() => requests.length, { timeout: 60_000 }).toBe(2);
    const [id = ''] = await createMany(client, 1);
    expect((await first).value).toMatchObject({ type: 'refund.created', refundId: id });
    const second = events.next();
    await client.refunds.cancel(id);
    expect((await second).value).toMatchObject({ type: 'refund.cancelled', refundId: id });
    const ofType = client.events.all({ type: 'refund.cancelled', wait: 0 });
    expect((await ofType.next()).value).toMatchObject({ type: 'refund.cancelled', refundId: id });
    const third = events.next();
    controller.abort();
    expect(await third).toEqual({ done: true, value: undefined });
  });

  test('throws errors that retries do not help against', async () => {
    const events = (await newClient()).events.all({ after: 'evt_unknown' });
    await expect(events.next()).rejects.toMatchObject({ code: 'validation_error' });
  });
});
