import { expect, test } from 'vitest';
import type { Dependencies } from '#shared/dependencies.ts';
import { createDeliveries } from '#worker/deliver/create-deliveries.ts';
import { openWebhookSender } from '#worker/deliver/deliver-webhook.ts';
import { openTransport } from '#worker/deliver/transport.ts';
import { noProxies } from '../../support/http/proxy-server.ts';
import { useDeliveryStage } from '../../support/webhooks/delivery-stage.ts';
import { addEndpoint, recordCancellation, recordRefunds } from '../../support/webhooks/endpoints.ts';
import { useReceivers } from '../../support/webhooks/receivers.ts';

const stage = useDeliveryStage();
const { service } = stage;
const newReceiver = useReceivers();

class Killed extends Error {}

/** Where a worker may die: around each statement that commits, and around the request. */
const points = [
  { statement: 'the creation', when: 'before' },
  { statement: 'the creation', when: 'after' },
  { statement: 'the request', when: 'before' },
  { statement: 'the request', when: 'after' },
  { statement: 'the record', when: 'before' },
  { statement: 'the record', when: 'after' },
  { statement: 'a claim', when: 'before' },
  { statement: 'a claim', when: 'after' },
] as const;

/** What the text of a statement has and no other. */
const marks = {
  'the creation': 'INSERT INTO webhook_delivery',
  'the record': 'jsonb_to_recordset',
  'a claim': 'interrupted',
};

type Point = (typeof points)[number];

/** Dependencies of a worker that dies at the point: what it would do from then on does not happen. */
function killable({ statement, when }: Point): {
  deps: Dependencies;
  transport: ReturnType<typeof openTransport>;
} {
  const { db } = service.deps;
  const inner = openTransport({ isPublicOnly: false, proxies: noProxies });
  let isDead = false;
  const passing = async <T>(name: string, step: () => Promise<T>): Promise<T> => {
    if (isDead) throw new Killed();
    if (name !== statement) return await step();
    isDead = true;
    if (when === 'after') await step();
    throw new Killed();
  };
  const dying = new Proxy(db, {
    get: (target, property) =>
      property === '$queryRaw'
        ? (...[text, ...values]: Parameters<typeof db.$queryRaw>) => {
            const [name = ''] = Object.entries(marks).find(([, mark]) => String(text).includes(mark)) ?? [];
            return passing(name, async () => await target.$queryRaw(text as TemplateStringsArray, ...values));
          }
        : Reflect.get(target, property),
  });
  return {
    deps: { ...service.deps, db: dying },
    transport: {
      post: (...request) => passing('the request', () => inner.post(...request)),
      close: () => inner.close(),
    },
  };
}

test.each(points)(
  'a worker that dies $when $statement loses no event, and repeats it with the same id',
  async (point) => {
    const receiver = await newReceiver();
    const endpoint = await addEndpoint(service, { url: receiver.url });
    const [id = ''] = await recordRefunds(service, 3);
    await recordCancellation(service, id);
    const { deps, transport } = killable(point);
    const dying = openWebhookSender(deps, transport);
    await createDeliveries(deps, dying, new AbortController().signal).catch(() => {});
    await dying.untilIdle();
    await dying.sweep().catch(() => {});
    await dying.untilIdle();
    await transport.close();

    await stage.create();
    stage.leased.length = 0;
    // Longer than the leases of both events of a refund.
    await stage.advance(61_000);
    await stage.sweep();
    await stage.work();
    const deliveries = await service.deps.db.webhookDelivery.findMany({ where: { endpointId: endpoint.id } });
    expect(deliveries).toHaveLength(4);
    expect(new Set(deliveries.map(({ status }) => status))).toEqual(new Set(['succeeded']));
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids)).toEqual(new Set(deliveries.map(({ eventId }) => eventId)));
    const bodies = new Map(receiver.received.map(({ headers, body }) => [headers['webhook-id'], body]));
    for (const { headers, body } of receiver.received) expect(body).toBe(bodies.get(headers['webhook-id']));
    const mayRepeat = point.statement !== 'the creation';
    expect(ids.length).toBeLessThanOrEqual(mayRepeat ? 7 : 4);
    const first = receiver.received.findIndex(({ event }) => event.refundId === id && event.seq === 1);
    const second = receiver.received.findIndex(({ event }) => event.refundId === id && event.seq > 1);
    expect(first).toBeLessThan(second);
  },
);
