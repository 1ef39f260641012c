import type { Dependencies } from '#shared/dependencies.ts';
import { heartbeatMs, noteHeartbeat } from '#shared/health/heartbeat.ts';
import { newId } from '#shared/platform/ids.ts';
import { deliveryQueueName, openWorker, type QueueWorker, refundQueueName } from '#shared/platform/queues.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { publishRoots } from '#shared/timeline/publish-roots.ts';
import { openRefundWork } from './advance/advance-refund.ts';
import type { DueWork } from './advance/due-work.ts';
import { createDeliveries } from './deliver/create-deliveries.ts';
import { openWebhookSender, type WebhookSender } from './deliver/deliver-webhook.ts';
import { type Notifier, openNotifier } from './notify/notify.ts';
import { batchTask } from './schedule/advance-batches.ts';
import { feedPositionTask } from './schedule/feed-position.ts';
import { withLiveness } from './schedule/liveness.ts';
import { reconcileAsRequested, reconcileDueAccounts } from './schedule/reconcile.ts';
import { retention } from './schedule/retention.ts';
import { startSchedule, type Task } from './schedule/schedule.ts';

const hourMs = 60 * 60 * 1000;

/** How soon a reconciliation that a person requested begins. */
const requestedReconciliationMs = 2_000;

/** How often due accounts are looked for, at most; more often where the interval is short. */
const longestReconciliationCheckMs = 60_000;

/** How often new events are looked for while there are none. */
const deliveryCreationMs = 200;

/** How often new states are looked for. */
const notificationMs = 5_000;

/** Starts a worker on every queue, and the schedule. Any number of processes may do so; the database keeps them apart. */
export function startWorkers(deps: Dependencies): QueueWorker {
  const { settings, log, metrics } = deps;
  const refunds = new Map(processorNames.map((processor) => [processor, openRefundWork(deps, processor)]));
  const sender = openWebhookSender(deps);
  const workers = [...refunds].map(([processor, work]) =>
    openWorker(
      settings,
      refundQueueName(processor),
      (release) => {
        metrics.wakeUps.inc({ queue: refundQueueName(processor), result: 'handled' });
        return lookOnWakeUp(deps, processor, work, release);
      },
      log,
    ),
  );
  const sweepOnWakeUp = () => {
    metrics.wakeUps.inc({ queue: deliveryQueueName, result: 'handled' });
    return sender.sweep();
  };
  workers.push(openWorker(settings, deliveryQueueName, sweepOnWakeUp, log));
  const notifier = openNotifier(deps);
  const schedule = startSchedule(deps, scheduledTasks(deps, refunds, sender, notifier));
  return {
    async close() {
      await Promise.all([sender, schedule, ...refunds.values(), ...workers].map((part) => part.close()));
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
function scheduledTasks(
  deps: Dependencies,
  refunds: ReadonlyMap<string, DueWork>,
  sender: WebhookSender,
  notifier: Notifier | null,
): Task[] {
  const { SWEEP_INTERVAL_MS, RECONCILIATION_INTERVAL_MS, LIVENESS_PATH } = deps.settings;
  const sweeps: Task[] = [
    ...[...refunds].map(([processor, work]) => ({
      name: `advance ${processor}`,
      intervalMs: SWEEP_INTERVAL_MS,
      run: async () => void (await work.look()),
    })),
    { name: 'sweep deliveries', intervalMs: SWEEP_INTERVAL_MS, run: () => sender.sweep() },
  ];
  const reconciliation: Task = {
    name: 'reconcileDueAccounts',
    intervalMs: Math.min(longestReconciliationCheckMs, RECONCILIATION_INTERVAL_MS / 10),
    run: (closing) => reconcileDueAccounts(deps, closing),
  };
  const workerId = newId('wrk');
  return [
    { name: 'heartbeat', intervalMs: heartbeatMs, run: () => noteHeartbeat(deps.db, workerId) },
    ...withLiveness(LIVENESS_PATH, sweeps),
    feedPositionTask(deps),
    {
      name: 'createDeliveries',
      intervalMs: deliveryCreationMs,
      run: (closing) => createDeliveries(deps, sender, closing),
    },
    batchTask(deps),
    {
      name: 'reconcileAsRequested',
      intervalMs: requestedReconciliationMs,
      run: (closing) => reconcileAsRequested(deps, closing),
    },
    ...(RECONCILIATION_INTERVAL_MS === 0 ? [] : [reconciliation]),
    ...(notifier?.tasks ?? []).map((task) => ({ ...task, intervalMs: notificationMs })),
    { name: 'publishRoots', intervalMs: hourMs, run: (closing) => publishRoots(deps, closing) },
    ...Object.entries(retention).map(([name, expire]) => ({
      name,
      intervalMs: hourMs,
      run: (closing: AbortSignal) => expire({ ...deps, closing }),
    })),
  ];
}
