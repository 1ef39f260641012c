import { waitFor } from '../support/wait-for.ts';
import type { Pipeline } from './pipelines.ts';

// Requests outside of a load.

/** @returns the id of the new refund. */
export async function createRefund(
  pipeline: Pipeline,
  transactionId: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const body = JSON.stringify({ transactionId, amount: 1, currency: 'usd', reason: 'product_defective' });
  const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
  return ((await call(pipeline, '/v1/refunds', init)) as { id: string }).id;
}

const drainTimeoutMs = 900_000;

/**
 * Waits until no refund is under way any more.
 * @throws Error with its output when the worker has ended.
 */
export async function drain(pipeline: Pipeline): Promise<void> {
  const isDrained = async () =>
    ((await call(pipeline, '/v1/refunds?status=processing&limit=1')) as unknown[]).length === 0;
  const options = { timeoutMs: drainTimeoutMs, intervalMs: 50 };
  await Promise.race([
    waitFor(`every refund of the ${pipeline.name} to be carried out`, isDrained, options),
    failWhenWorkerEnds(pipeline),
  ]);
}

async function failWhenWorkerEnds({ name, worker }: Pipeline): Promise<never> {
  await worker.exited;
  throw new Error(`The worker of the ${name} has ended.\n${worker.output().slice(-4_000)}`);
}

/** @throws Error when a refund has failed: the bench's payments have money enough for all of them. */
export async function requireNoFailure(pipeline: Pipeline): Promise<void> {
  const [failed] = (await call(pipeline, '/v1/refunds?status=failed&limit=1')) as unknown[];
  if (failed !== undefined) throw new Error(`A refund of the bench failed: ${JSON.stringify(failed)}`);
}

async function call({ url, requests }: Pipeline, path: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    ...init,
    headers: { ...requests.headers, ...init.headers },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: unknown }).data;
}
