import { afterEach, beforeAll, vi } from 'vitest';
import { createDeliveries } from '#worker/deliver/create-deliveries.ts';
import { openWebhookSender, type WebhookSender } from '#worker/deliver/deliver-webhook.ts';
import { claimDue, type DeliveryClaim } from '#worker/deliver/statements.ts';
import { openTransport } from '#worker/deliver/transport.ts';
import { HeldTime } from '../clocks.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import type { TestService } from '../service.ts';
import { useService } from '../use-service.ts';

/** A service whose deliveries a test makes step by step, while the time stands still. */
export interface DeliveryStage {
  service: TestService;
  time: HeldTime;
  /** What was leased and not sent yet: the deliveries that are sent one after the other together. */
  leased: DeliveryClaim[][];
  worker: WebhookSender;
  /** A worker that gives up on a response after 1.5 s. */
  impatient: WebhookSender;
  /** Makes the deliveries of new events, and leases at most so many of them. */
  create(places?: number): Promise<void>;
  /** Leases what is due. */
  sweep(): Promise<void>;
  /** Sends what is leased, and what may start as it ends, until nothing may. */
  work(worker?: WebhookSender): Promise<void>;
  advance(ms: number): Promise<void>;
}

/** Gives a test file a stage. The endpoints of a test are removed after it. */
export function useDeliveryStage(): DeliveryStage {
  const time = new HeldTime();
  const service = useService({ workers: 0, overrides: { clock: time } });
  const worker = madeBeforeTests(
    'The worker',
    async () => openWebhookSender(service.deps),
    (opened) => opened.close(),
  );
  const impatient = madeBeforeTests(
    'The impatient worker',
    async () => openWebhookSender(service.deps, openTransport({ isPublicOnly: false, timeoutMs: 1_500 })),
    (opened) => opened.close(),
  );
  const leased: DeliveryClaim[][] = [];
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
    impatient,
    create,
    async sweep() {
      for (const claim of await claimDue(service.deps.db, null, 1_000)) leased.push([claim]);
    },
    async work(by = worker) {
      await by.startUpTo(async () => leased.splice(0));
      await by.untilIdle();
    },
    advance: (ms) => time.advance(service.ownerDb, ms),
  };
}
