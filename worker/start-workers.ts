import type { Dependencies } from '../shared/dependencies.ts';
import {
  type MaintenanceJob,
  maintenanceQueueName,
  openWorker,
  type QueueWorker,
  type RefundJob,
  refundQueueName,
} from '../shared/platform/queues.ts';
import { processorNames } from '../shared/processors/registry.ts';
import { advanceRefund } from './advance/advance-refund.ts';
import { expireEvents } from './schedule/expire-events.ts';
import { expireInvitations } from './schedule/expire-invitations.ts';
import { expireReconciliations } from './schedule/expire-reconciliations.ts';
import { expireSessions } from './schedule/expire-sessions.ts';
import { reconcileOnSchedule } from './schedule/reconcile-on-schedule.ts';
import { startSweeping } from './schedule/sweep.ts';

/** How often the schedules are put in place again, for a store that was emptied. */
const rescheduleMs = 60_000;

const hourMs = 60 * 60 * 1000;

/** What is done every hour, by one worker of all. */
const maintenance: Readonly<Record<MaintenanceJob, (deps: Dependencies) => Promise<void>>> = {
  'expire-events': expireEvents,
  'expire-reconciliations': expireReconciliations,
  'expire-sessions': expireSessions,
  'expire-invitations': expireInvitations,
};

const maintenanceJobs = Object.keys(maintenance) as MaintenanceJob[];

/** Starts working on every queue. Any number of processes may do so; the database keeps them apart. */
export function startWorkers(deps: Dependencies): QueueWorker {
  const { settings, log } = deps;
  const workers = [
    ...processorNames.map((processor) =>
      openWorker<RefundJob>(
        settings,
        refundQueueName(processor),
        settings.WORKER_CONCURRENCY,
        ({ refundId }) => advanceRefund(deps, refundId),
        log,
      ),
    ),
    openWorker(settings, maintenanceQueueName, 1, (_data, name) => maintain(deps, name), log),
  ];
  const stopScheduling = keepSchedules(deps);
  const sweeping = startSweeping(deps);
  const reconciling = reconcileOnSchedule(deps);
  return {
    async close() {
      stopScheduling();
      await Promise.all([sweeping, reconciling, ...workers].map((part) => part.close()));
    },
  };
}

/** A schedule outlives the release that made it: one that nobody knows here is ended, and would be put back if needed. */
async function maintain(deps: Dependencies, name: string): Promise<void> {
  const job = maintenanceJobs.find((known) => known === name);
  if (job === undefined) await deps.queues.unschedule(name);
  else await maintenance[job](deps);
}

function keepSchedules({ queues, log }: Dependencies): () => void {
  const schedule = () => {
    Promise.all(maintenanceJobs.map((name) => queues.schedule(name, hourMs))).catch((error: unknown) =>
      log.warn({ err: error }, 'the schedules could not be put in place'),
    );
  };
  schedule();
  const timer = setInterval(schedule, rescheduleMs);
  return () => clearInterval(timer);
}
