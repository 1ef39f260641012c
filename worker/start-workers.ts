import type { Dependencies } from '../shared/dependencies.ts';
import {
  type DeliveryJob,
  deliveryQueueName,
  openWorker,
  type QueueWorker,
  type RefundJob,
  refundQueueName,
} from '../shared/platform/queues.ts';
import { processorNames } from '../shared/processors/registry.ts';
import { advanceRefund } from './advance/advance-refund.ts';
import { createDeliveries } from './deliver/create-deliveries.ts';
import { openWebhookSender, type WebhookSender } from './deliver/deliver-webhook.ts';
import { reconcileDueAccounts } from './schedule/reconcile.ts';
import {
  expireInvitations,
  expireProcessorEvents,
  expireReconciliations,
  expireSessions,
  expireWebhooks,
} from './schedule/retention.ts';
import { startSchedule, type Task } from './schedule/schedule.ts';
import { sweep } from './schedule/sweep.ts';

const hourMs = 60 * 60 * 1000;

/** How often due accounts are looked for, at most; more often where the interval is short. */
const longestReconciliationCheckMs = 60_000;

/** Jobs that start webhook attempts, at once. Those of a moment share a statement. */
const deliveryConcurrency = 50;

/** How often new events are looked for while there are none. */
const deliveryCreationMs = 200;

/** Starts a worker on every queue, and the schedule. Any number of processes may do so; the database keeps them apart. */
export function startWorkers(deps: Dependencies): QueueWorker {
  const { settings, log } = deps;
  const workers = processorNames.map((processor) =>
    openWorker(
      settings,
      refundQueueName(processor),
      settings.WORKER_CONCURRENCY,
      ({ refundId }: RefundJob) => advanceRefund(deps, refundId),
      log,
    ),
  );
  const sender = openWebhookSender(deps);
  const deliveryWorker = openWorker(
    settings,
    deliveryQueueName,
    deliveryConcurrency,
    ({ deliveryId }: DeliveryJob) => sender.wake(deliveryId),
    log,
  );
  const schedule = startSchedule(deps, scheduledTasks(deps, sender));
  return {
    async close() {
      await Promise.all([schedule, deliveryWorker, ...workers].map((part) => part.close()));
      await sender.close();
    },
  };
}

/** The sweep has a task per processor, so that a queue that hangs delays only its own refunds. */
export function scheduledTasks(deps: Dependencies, sender: WebhookSender): Task[] {
  const { SWEEP_INTERVAL_MS, RECONCILIATION_INTERVAL_MS } = deps.settings;
  const retention = {
    expireProcessorEvents,
    expireInvitations,
    expireSessions,
    expireReconciliations,
    expireWebhooks,
  };
  const reconciliation: Task = {
    name: 'reconcileDueAccounts',
    intervalMs: Math.min(longestReconciliationCheckMs, RECONCILIATION_INTERVAL_MS / 10),
    run: (closing) => reconcileDueAccounts(deps, closing),
  };
  return [
    ...processorNames.map((processor) => ({
      name: `sweep ${processor}`,
      intervalMs: SWEEP_INTERVAL_MS,
      run: () => sweep(deps, processor),
    })),
    { name: 'sweep deliveries', intervalMs: SWEEP_INTERVAL_MS, run: () => sender.sweep() },
    {
      name: 'createDeliveries',
      intervalMs: deliveryCreationMs,
      run: (closing) => createDeliveries(deps, sender, closing),
    },
    ...(RECONCILIATION_INTERVAL_MS === 0 ? [] : [reconciliation]),
    ...Object.entries(retention).map(([name, expire]) => ({
      name,
      intervalMs: hourMs,
      run: () => expire(deps),
    })),
  ];
}
