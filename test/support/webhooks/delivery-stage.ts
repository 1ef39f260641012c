import { afterEach, beforeAll, vi } from 'vitest';
import { claimDue, type DeliveryClaim } from '#worker/deliver/claim-deliveries.ts';
import { createDeliveries } from '#worker/deliver/create-deliveries.ts';
import { openWebhookSender } from '#worker/deliver/deliver-webhook.ts';
import { HeldTime } from '../clocks.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { useService } from '../use-service.ts';

/**
 * Gives a test file a service whose deliveries a test makes step by step, while the time stands still. The endpoints of a test are removed
 * after it.
 */
export function useDeliveryStage() {
  const time = new HeldTime();
  const service = useService({ workers: 0, overrides: { clock: time } });
  const worker = madeBeforeTests(
    'The worker',
    async () => openWebhookSender(service.deps),
    (opened) => opened.close(),
  );
  /** What was leased and not sent yet: the deliveries that are sent one after the other together. */
  const leased: DeliveryClaim[][] = [];
  /** Makes the deliveries of new events, and leases at most so many of them. */
  const create = (places = 1_000) =>
    createDeliveries(
      service.deps,
      {
        startUpTo: async (claim) => {
          for (const claims of await claim(places)) leased.push([...claims]);
        },
      },
      new AbortController().signal,
    );
  beforeAll(() => time.hold(service.ownerDb));
  afterEach(async () => {
    vi.restoreAllMocks();
    await service.deps.db.webhookEndpoint.deleteMany();
    await create();
    leased.length = 0;
  });
  return {
    service,
    time,
    leased,
    worker,
    create,
    /** Leases what is due. */
    async sweep() {
      for (const claim of await claimDue(service.deps.db, null, 1_000)) leased.push([claim]);
    },
    /** Sends what is leased, and what may start as it ends, until nothing may. */
    async work(by = worker) {
      await by.startUpTo(async () => leased.splice(0));
      await by.untilIdle();
    },
    advance: (ms: number) => time.advance(service.ownerDb, ms),
  };
}
