import type { Dependencies } from '../shared/dependencies.ts';
import { processorNames } from '../shared/processors/registry.ts';
import {
  type MaintenanceJob,
  maintenanceQueueName,
  openWorker,
  type QueueWorker,
  type RefundJob,
  refundQueueName,
} from '../shared/queues.ts';
import { advanceRefund } from './jobs/advance-refund.ts';
import { expireAnswers } from './jobs/expire-answers.ts';
import { expireEvents } from './jobs/expire-events.ts';
import { sweep } from './jobs/sweep.ts';

/** How often the schedules are put in place again, for a store that was emptied. */
const rescheduleMs = 5_000;

const hourMs = 60 * 60 * 1000;

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
    openWorker(
      settings,
      maintenanceQueueName,
      1,
      (_data, name) => maintain(deps, name as MaintenanceJob),
      log,
    ),
  ];
  const stopScheduling = keepSchedules(deps);
  return {
    async close() {
      stopScheduling();
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

async function maintain(deps: Dependencies, name: MaintenanceJob): Promise<void> {
  switch (name) {
    case 'sweep':
      return await sweep(deps);
    case 'expire-answers':
      return await expireAnswers(deps);
    case 'expire-events':
      return await expireEvents(deps);
  }
}

function keepSchedules({ queues, settings, log }: Dependencies): () => void {
  const schedule = () => {
    Promise.all([
      queues.schedule('sweep', settings.SWEEP_INTERVAL_MS),
      queues.schedule('expire-answers', hourMs),
      queues.schedule('expire-events', hourMs),
    ]).catch((error: unknown) => log.warn({ err: error }, 'the schedules could not be put in place'));
  };
  schedule();
  const timer = setInterval(schedule, rescheduleMs);
  return () => clearInterval(timer);
}
