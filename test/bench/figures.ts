import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Both, Measured } from './measure.ts';
import { type Pipeline, registerPayment } from './pipelines.ts';
import { createRefund } from './requests.ts';
import { type Figure, percentile } from './results.ts';

/** What each refund of a load costs, until everything that follows is done. */
export function costsOf({ service, naked }: Both<Measured>): Figure[] {
  const cost = (title: string, of: keyof Measured['used'], digits: number): Figure => ({
    title,
    service: service.used[of] / service.answered,
    naked: naked.used[of] / naked.answered,
    digits,
  });
  const time = 'processor time per refund';
  return [
    cost('statements per refund, under load', 'statements', 1),
    cost('rows written per refund', 'rowsWritten', 1),
    cost('bytes of WAL per refund', 'walBytes', 0),
    cost(`${time}, API, ms`, 'api', 2),
    cost(`${time}, worker, ms`, 'worker', 2),
    cost(`${time}, PostgreSQL, ms`, 'postgres', 2),
    cost(`${time}, sandbox, ms`, 'sandbox', 2),
  ];
}

/** Enough for a 99th percentile at the default of five seconds. */
const delaysPerSecond = 40;

/** How long a refund takes without load from the request to the processor's acceptance. */
export async function measureDelay(pipelines: Both<Pipeline>, seconds: number): Promise<Figure[]> {
  const count = Math.ceil(delaysPerSecond * seconds);
  const service = await measureDelays(pipelines.service, count);
  const naked = await measureDelays(pipelines.naked, count);
  return [0.5, 0.99].map((share) => ({
    title: `request to processor without load, p${share * 100} ms`,
    service: percentile(service, share),
    naked: percentile(naked, share),
    digits: 0,
  }));
}

/** The pause between refunds, which are sent one at a time. */
const pauseMs = 50;
const warmUp = 5;
const payment = 'ch_delay';

/** Whole milliseconds, one entry per refund. The sandbox accepts at once, so that the processor adds no time. */
async function measureDelays(pipeline: Pipeline, count: number): Promise<number[]> {
  const { control } = pipeline.sandbox;
  await registerPayment(control, payment);
  const sentAt = new Map<string, number>();
  for (let n = 0; n < count + warmUp; n += 1) {
    const now = Date.now();
    const id = await createRefund(pipeline, payment);
    if (n >= warmUp) sentAt.set(id, now);
    await sleep(pauseMs);
  }
  const moved = await control.refunds({ processor: 'stripe', transactionId: payment });
  return moved.flatMap(({ key, createdAt }) => {
    const sent = sentAt.get(key);
    return sent === undefined ? [] : [Date.parse(createdAt) - sent];
  });
}

/** What the processes came to in the run. */
export function processFigures({ service, naked }: Both<Pipeline>): Figure[] {
  const both = (title: string, read: (pipeline: Pipeline) => number): Figure => ({
    ...{ title, service: read(service), naked: read(naked), digits: 0 },
  });
  return [
    both("the processor's webhooks refused, to be sent again", ({ sandbox }) => sandbox.failures().attempts),
    both("the processor's webhooks lost after four attempts", ({ sandbox }) => sandbox.failures().events),
    both('memory of the API after the run, MB', ({ api }) => residentBytes(api.pid) / 1e6),
    both('memory of the worker after the run, MB', ({ worker }) => residentBytes(worker.pid) / 1e6),
  ];
}

/** The memory that a process has in use, in bytes. */
function residentBytes(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}
