import { measureDelays } from './delay.ts';
import type { MeasuredLoads } from './measure.ts';
import type { BenchOptions } from './options.ts';
import type { Pipeline } from './pipelines.ts';
import { residentBytes } from './resources.ts';
import { type Figure, percentile } from './results.ts';
import { countStatementsPerRefund } from './statements.ts';

/** Enough for a 99th percentile at the default of five seconds. */
const delaysPerSecond = 40;

type Both<T> = Record<Pipeline['name'], T>;

/** Measures what is measured without a load, and takes the rest from the loads. */
export async function measureFigures(
  pipelines: Both<Pipeline>,
  measured: MeasuredLoads,
  { rows, seconds }: BenchOptions,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  if (rows.includes('statements')) {
    const counts = await forBoth(pipelines, countStatementsPerRefund);
    figures.push({ title: 'statements per refund, one at a time', ...counts, digits: 1 });
    const loads = measured.get('create');
    if (loads !== undefined) {
      const perRefund = ({ name }: Pipeline) => loads[name].statements / loads[name].answered;
      figures.push({
        title: 'statements per refund, under load',
        service: perRefund(pipelines.service),
        naked: perRefund(pipelines.naked),
        digits: 1,
      });
    }
  }
  if (rows.includes('latency')) {
    const count = Math.ceil(delaysPerSecond * seconds);
    const delays = await forBoth(pipelines, (pipeline) => measureDelays(pipeline, count));
    for (const share of [0.5, 0.99]) {
      figures.push({
        title: `request to processor without load, p${share * 100} ms`,
        service: percentile(delays.service, share),
        naked: percentile(delays.naked, share),
        digits: 0,
      });
    }
  }
  return [...figures, ...processFigures(pipelines)];
}

function processFigures({ service, naked }: Both<Pipeline>): Figure[] {
  const memory = (role: 'api' | 'worker'): Figure => ({
    title: `memory of the ${role === 'api' ? 'API' : 'worker'} after the run, MB`,
    service: residentBytes(service[role].pid) / 1e6,
    naked: residentBytes(naked[role].pid) / 1e6,
    digits: 0,
  });
  // The naked API is not compiled, so its start says nothing.
  const start = { title: 'start of the API to its first answer, ms', naked: null, digits: 0 };
  return [{ ...start, service: service.startUpMs }, memory('api'), memory('worker')];
}

async function forBoth<T>(
  { service, naked }: Both<Pipeline>,
  measure: (pipeline: Pipeline) => Promise<T>,
): Promise<Both<T>> {
  return { service: await measure(service), naked: await measure(naked) };
}
