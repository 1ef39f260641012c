import type { Dependencies } from '#shared/dependencies.ts';
import { heartbeatMs, noteHeartbeat } from '#shared/health/heartbeat.ts';
import { newId } from '#shared/platform/ids.ts';
import {
  deliveryQueueName,
  openWorkers,
  type QueueWorker,
  refundQueueName,
} from '#shared/platform/queues.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { publishRoots } from '#shared/timeline/publish-roots.ts';
import { openRefundWork } from './advance/advance-refund.ts';
import type { DueWork } from './advance/due-work.ts';
import { createDeliveries } from './deliver/create-deliveries.ts';
import { openWebhookSender, type WebhookSender } from './deliver/deliver-webhook.ts';
import { openNotifier } from './notify/notify.ts';
import { batchTask } from './schedule/advance-batches.ts';
import { readDue } from './schedule/due.ts';
import { feedPositionTask } from './schedule/feed-position.ts';
import { type Liveness, openLiveness } from './schedule/liveness.ts';
import { startLooks } from './schedule/looks.ts';
import { reconcileAsRequested, reconcileDueAccounts } from './schedule/reconcile.ts';
import { retention } from './schedule/retention.ts';
import { startSchedule, type Task } from './schedule/schedule.ts';

const hourMs = 60 * 60 * 1000;

/** How soon a reconciliation that a person requested begins. */
const requestedReconciliationMs = 2_000;

/** How often due accounts are looked for, at most; more often where the interval is short. */
const longestReconciliationCheckMs = 60_000;

/** How often workers look for what is due while there is something. */
const busyLookMs = 200;

/** Starts a worker on every queue, and the schedule. Any number of processes may do so; the database keeps them apart. */
export function startWorkers(deps: Dependencies): QueueWorker {
  const { settings, log, metrics } = deps;
  const liveness = openLiveness(settings.LIVENESS_PATH);
  const looks = startLooks({
    ...deps,
    read: () => liveness(() => readDue(deps.db)),
    shortestPauseMs: Math.min(busyLookMs, settings.SWEEP_INTERVAL_MS),
  });
  const refunds = new Map(processorNames.map((processor) => [processor, openRefundWork(deps, processor)]));
  const sender = openWebhookSender(deps);
  const handlers = new Map(
    [...refunds].map(([processor, work]) => [
      refundQueueName(processor),
      (release: () => Promise<void>) => {
        metrics.wakeUps.inc({ queue: refundQueueName(processor), result: 'handled' });
        const looked = lookOnWakeUp(deps, processor, work, release);
        looks.wake();
        return looked;
      },
    ]),
  );
  handlers.set(deliveryQueueName, () => {
    metrics.wakeUps.inc({ queue: deliveryQueueName, result: 'handled' });
    const swept = sender.sweep();
    looks.wake();
    return swept;
  });
  const workers = openWorkers(settings, handlers, log);
  const notifier = openNotifier(deps);
  const sweeps = sweepTasks(settings, { refunds, sender, liveness });
  const tasks = [...sweeps, ...scheduledTasks(deps, sender), ...(notifier?.tasks ?? [])];
  const schedule = startSchedule({ ...deps, looks }, tasks);
  return {
    async close() {
      await Promise.all([sender, schedule, looks, workers, ...refunds.values()].map((part) => part.close()));
      await notifier?.close();
    },
  };
}

/**
 * Looks for refunds that are due. A worker whose places are filled while more may be due passes the wake-up on to another one. It
 * takes no further wake-ups until it has caught up: as its places become free, it looks anyway.
 */
async function lookOnWakeUp(
  { queues, log }: Pick<Dependencies, 'queues' | 'log'>,
  processor: string,
  work: DueWork,
  release: () => Promise<void>,
): Promise<void> {
  if (!(await work.look())) return;
  // Not waited for, because the queue may be gone meanwhile.
  release().then(
    () => queues.wake(processor),
    (error: unknown) => log.debug({ err: error, processor }, 'a wake-up could not be passed on'),
  );
  await work.untilCaughtUp();
}

/** What is due is looked for without a queue as well: retries, settlement checks, and what a lost wake-up left. */
function sweepTasks(
  { SWEEP_INTERVAL_MS: intervalMs }: Dependencies['settings'],
  {
    refunds,
    sender,
    liveness,
  }: { refunds: ReadonlyMap<string, DueWork>; sender: WebhookSender; liveness: Liveness },
): Task[] {
  const ofRefunds = [...refunds].map(
    ([processor, work]): Task => ({
      ...{ name: `advance ${processor}`, intervalMs },
      isDue: ({ processors }) => processors.includes(processor),
      run: async () => void (await liveness(work.look)),
    }),
  );
  const ofDeliveries: Task = {
    ...{ name: 'sweep deliveries', intervalMs },
    isDue: ({ deliveries }) => deliveries,
    run: () => liveness(sender.sweep),
  };
  return [...ofRefunds, ofDeliveries];
}

function scheduledTasks(deps: Dependencies, sender: WebhookSender): Task[] {
  const { RECONCILIATION_INTERVAL_MS } = deps.settings;
  const reconciliation: Task = {
    name: 'reconcileDueAccounts',
    intervalMs: Math.min(longestReconciliationCheckMs, RECONCILIATION_INTERVAL_MS / 10),
    run: (closing) => reconcileDueAccounts(deps, closing),
  };
  const workerId = newId('wrk');
  return [
    { name: 'heartbeat', intervalMs: heartbeatMs, run: () => noteHeartbeat(deps.db, workerId) },
    feedPositionTask(deps),
    {
      ...{ name: 'createDeliveries', intervalMs: 0 },
      isDue: ({ events }) => events,
      run: (closing) => createDeliveries(deps, sender, closing),
    },
    batchTask(deps),
    {
      ...{ name: 'reconcileAsRequested', intervalMs: requestedReconciliationMs },
      isDue: ({ reconciliations }) => reconciliations,
      run: (closing) => reconcileAsRequested(deps, closing),
    },
    ...(RECONCILIATION_INTERVAL_MS === 0 ? [] : [reconciliation]),
    { name: 'publishRoots', intervalMs: hourMs, run: (closing) => publishRoots(deps, closing) },
    ...Object.entries(retention).map(([name, expire]) => ({
      name,
      intervalMs: hourMs,
      run: (closing: AbortSignal) => expire({ ...deps, closing }),
    })),
  ];
}
