import { afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { createDeliveries } from '../../../worker/deliver/create-deliveries.ts';
import { openWebhookSender, type WebhookSender } from '../../../worker/deliver/deliver-webhook.ts';
import { openTransport } from '../../../worker/deliver/transport.ts';
import { sweepDeliveries } from '../../../worker/schedule/sweep.ts';
import { HeldTime } from '../clocks.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import type { TestService } from '../service.ts';
import { useService } from '../use-service.ts';

/** A service whose deliveries a test makes step by step, while the time stands still. */
export interface DeliveryStage {
  service: TestService;
  time: HeldTime;
  /** The deliveries that were enqueued and not worked on yet. */
  wakeUps: Set<string>;
  worker: WebhookSender;
  /** A worker that gives up on a response after 1.5 s. */
  impatient: WebhookSender;
  /** Makes the deliveries of new events. */
  create(): Promise<void>;
  /** Enqueues what is due. */
  sweep(): Promise<void>;
  /** Works on what is enqueued, as a worker with many jobs at once does, until nothing is. */
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
  const wakeUps = new Set<string>();
  beforeAll(() => time.hold(service.ownerDb));
  beforeEach(() => {
    const { queues } = service.deps;
    vi.spyOn(queues, 'enqueueDelivery').mockImplementation((id) => void wakeUps.add(id));
    vi.spyOn(queues, 'enqueueDeliveries').mockImplementation(async (ids) => {
      for (const id of ids) wakeUps.add(id);
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    wakeUps.clear();
    await service.deps.db.webhookEndpoint.deleteMany();
    await createDeliveries(service.deps, new AbortController().signal);
  });
  return {
    service,
    time,
    wakeUps,
    worker,
    impatient,
    create: () => createDeliveries(service.deps, new AbortController().signal),
    sweep: () => sweepDeliveries(service.deps),
    async work(by = worker) {
      while (wakeUps.size > 0) {
        const ids = [...wakeUps];
        wakeUps.clear();
        await Promise.all(ids.map((id) => by.deliver(id)));
      }
    },
    advance: (ms) => time.advance(service.ownerDb, ms),
  };
}
