import { setTimeout as sleep } from 'node:timers/promises';
import { closeDependencies, openDependencies } from '#shared/dependencies.ts';
import { loadServiceSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { sandboxProcessors } from '../sandbox/processors.ts';
import { seedOrganization } from '../support/service.ts';
import { query } from '../support/stores/database-client.ts';
import { loadDueRefunds } from './bulk-load.ts';
import { runLoad } from './load.ts';
import type { ServicePipeline } from './pipelines.ts';
import { type Conditions, number, percentile, table } from './results.ts';

/** Due refunds of the organization that is in trouble. */
const backlog = 50_000;
const latencyMs = 300;
const connections = 8;
/** For what has begun to take effect. */
const settleMs = 3_000;

const head = ['an organization that waits for the verdict', 'answers/s', 'p50 ms', 'p99 ms', 'refused'];

/**
 * Measures what an organization notices of the trouble of another one: a flood of refunds at the same processor, and a processor
 * that does not respond beside its own.
 * @returns a table as Markdown.
 */
export async function measureNeighbours(
  service: ServicePipeline,
  { seconds, rounds }: Conditions,
  say: (line: string) => void,
): Promise<string> {
  const { databaseUrl, organizationId, sandbox } = service;
  const makeDue = (from: string) =>
    query(
      databaseUrl,
      `update refund_work set due_at = '${from}' where organization_id = '${organizationId}'`,
    );
  await service.worker.stop();
  await loadDueRefunds(databaseUrl, organizationId, backlog);
  await makeDue('2100-01-01');
  service.startWorker();
  const key = await addNeighbour(service);
  await sandbox.control.settings({ latencyMs });
  const lines: string[][] = [];
  const measure = async (title: string, processor: string) => {
    const { latencies, elapsedMs, refusals } = await runLoad({
      ...{ url: service.url, connections, seconds: seconds * rounds },
      next: requestsOf(key, processor),
    });
    const refused = Object.values(refusals).reduce((sum, count) => sum + count, 0);
    const figures = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
    say(`${title}: ${latencies.length} answers, ${refused} refused`);
    const cells = [(latencies.length / elapsedMs) * 1000, ...figures, refused];
    lines.push([title, ...cells.map((cell, index) => number(cell, index === 0 ? 1 : 0))]);
  };
  await measure('at Stripe, alone', 'stripe');
  await measure('at Braintree, alone', 'braintree');
  await makeDue('now');
  await sleep(settleMs);
  await measure(`at Stripe, while ${number(backlog)} refunds of another one are due there`, 'stripe');
  await sandbox.control.fault({ processor: 'stripe', operation: '*', kind: 'timeout', times: null });
  await sleep(settleMs);
  await measure('at Braintree, while Stripe does not respond', 'braintree');
  return table(head, lines);
}

/** Adds an organization with its accounts; returns its key. */
async function addNeighbour({ databaseUrl, encryptionKey, sandbox }: ServicePipeline): Promise<string> {
  const settings = loadServiceSettings({ DATABASE_URL: databaseUrl, ENCRYPTION_KEY: encryptionKey });
  const deps = openDependencies(settings, openLog('silent', 'bench'));
  try {
    const processors = Object.values(sandboxProcessors);
    return (await seedOrganization(deps, processors, sandbox.url, 'Neighbour')).keys.test.plaintext;
  } finally {
    await closeDependencies(deps);
  }
}

/** Creations that wait, each of a payment of its own. */
function requestsOf(key: string, processor: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=20' };
  let count = 0;
  return () => {
    count += 1;
    const transactionId = `${processor === 'stripe' ? 'ch_' : ''}neighbour${performance.now()}x${count}`;
    const refund = { transactionId: transactionId.replace('.', 'x'), processor, amount: 1, currency: 'usd' };
    const body = JSON.stringify({ ...refund, reason: 'product_defective' });
    return { method: 'POST' as const, path: '/v1/refunds', headers, body };
  };
}
