import type { StoredAttempt } from '#shared/webhooks/deliveries.ts';
import type { TestService } from '../service.ts';
import { addEndpoint } from './endpoints.ts';
import { type Respond, useReceivers } from './receivers.ts';

/** Gives a test file receivers that are registered as endpoints, with what the database has of them. */
export function useRegisteredReceivers(service: TestService) {
  const newReceiver = useReceivers();
  return async (respond?: Respond) => {
    const receiver = await newReceiver(respond);
    const endpoint = await addEndpoint(service, { url: receiver.url });
    const { db } = service.deps;
    return {
      receiver,
      endpoint,
      deliveries: async () => {
        const where = { endpointId: endpoint.id };
        const found = await db.webhookDelivery.findMany({ where, orderBy: { position: 'asc' } });
        return found.map((each) => ({ ...each, attempts: each.attempts as unknown as StoredAttempt[] }));
      },
      now: async () => await db.webhookEndpoint.findUniqueOrThrow({ where: { id: endpoint.id } }),
    };
  };
}

/** @throws Error unless there is exactly one. */
export async function onlyOne<T>(items: Promise<T[]>): Promise<T> {
  const [item, ...others] = await items;
  if (item === undefined || others.length > 0) throw new Error(`Expected one, found ${others.length + 1}.`);
  return item;
}
