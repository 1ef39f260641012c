import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Both, Measured } from './measure.ts';
import { type Pipeline, registerPayment } from './pipelines.ts';
import { createRefund, respondAsync } from './requests.ts';
import { type Figure, percentile } from './results.ts';

/** What each answer of a load costs, until everything that follows is done. @param what was asked for. */
export function costsOf({ service, naked }: Both<Measured>, what: 'refund' | 'webhook'): Figure[] {
  const per = (cost: keyof Measured['used']) => ({
    service: service.used[cost] / service.answered,
    naked: naked.used[cost] / naked.answered,
  });
  const time = (name: string, of: Exclude<keyof Measured['used'], 'statements'>): Figure => ({
    ...{ title: `processor time per ${what}, ${name}, ms`, ...per(of), digits: 2 },
  });
  return [
    { title: `statements per ${what}, under load`, ...per('statements'), digits: 1 },
    ...[
      time('API', 'api'),
      time('worker', 'worker'),
      time('PostgreSQL', 'postgres'),
      time('sandbox', 'sandbox'),
    ],
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
    const id = await createRefund(pipeline, payment, respondAsync);
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
  // The naked API is not compiled, so that its start does not compare.
  const start = { title: 'start of the API to its first answer, ms', naked: null, digits: 0 };
  return [
    both("the processor's webhooks refused, to be sent again", ({ sandbox }) => sandbox.failures().attempts),
    both("the processor's webhooks lost after four attempts", ({ sandbox }) => sandbox.failures().events),
    { ...start, service: service.startUpMs },
    both('memory of the API after the run, MB', ({ api }) => residentBytes(api.pid) / 1e6),
    both('memory of the worker after the run, MB', ({ worker }) => residentBytes(worker.pid) / 1e6),
  ];
}

/** The memory that a process has in use, in bytes. */
function residentBytes(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}
