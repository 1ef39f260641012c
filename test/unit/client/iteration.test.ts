import { expect, test } from 'vitest';
import { RefundClient } from '#shared/client/index.ts';

interface Item {
  id: string;
}

const items = Array.from({ length: 230 }, (_, index): Item => ({ id: `${index}` }));

/** A client of a service that has these items, whose lists continue after an id, and the queries that it sent. */
function clientOf(all: Item[]) {
  const sent: Record<string, string>[] = [];
  const fetch = async (url: string | URL | Request) => {
    const query = Object.fromEntries(new URL(String(url)).searchParams);
    sent.push(query);
    const begin = query.after === undefined ? 0 : all.findIndex(({ id }) => id === query.after) + 1;
    const data = all.slice(begin, begin + Number(query.limit));
    return Response.json({ data, nextAfter: data.at(-1)?.id ?? query.after ?? null });
  };
  const client = new RefundClient({ baseUrl: 'https://example.com', apiKey: 'svc_test_1', fetch });
  return { client, sent };
}

async function collect(iterated: AsyncIterable<Item>, count = Number.POSITIVE_INFINITY) {
  const ids: string[] = [];
  for await (const { id } of iterated) if (ids.push(id) >= count) break;
  return ids;
}

test.each([230, 200, 0])(
  'refunds.all has each of %i refunds once, and passes its filters on',
  async (count) => {
    const { client, sent } = clientOf(items.slice(0, count));
    // As a program in JavaScript may send it.
    const createdBefore = new Date('2026-11-20T09:30:00.000Z') as unknown as string;
    expect(await collect(client.refunds.all({ status: 'failed', createdBefore }))).toEqual(
      items.slice(0, count).map(({ id }) => id),
    );
    const filters = { status: 'failed', limit: '100', createdBefore: '2026-11-20T09:30:00.000Z' };
    for (const query of sent) expect(query).toMatchObject(filters);
  },
);

test('refunds.all throws when its signal is aborted, so that a part is not taken for all', async () => {
  const { client, sent } = clientOf(items);
  const controller = new AbortController();
  const reading = async () => {
    for await (const { id } of client.refunds.all({ signal: controller.signal }))
      if (id === '99') controller.abort();
  };
  await expect(reading()).rejects.toThrow('aborted');
  expect(sent).toHaveLength(1);
});

test('events.all has each event once, waits for new ones, and ends when its signal is aborted', async () => {
  const happened = items.slice(0, 120);
  const { client, sent } = clientOf(happened);
  const controller = new AbortController();
  const events = client.events.all({ after: '49', type: 'refund.created', signal: controller.signal });
  const first = [];
  for (let count = 50; count < 120; count += 1) first.push((await events.next()).value);
  expect(first).toEqual(items.slice(50, 120));
  const next = events.next();
  await expect.poll(() => sent.length).toBeGreaterThan(1);
  happened.push({ id: 'new' });
  expect((await next).value).toEqual({ id: 'new' });
  const last = events.next();
  controller.abort();
  expect(await last).toEqual({ done: true, value: undefined });
  expect(sent.every(({ type }) => type === 'refund.created')).toBe(true);
});
