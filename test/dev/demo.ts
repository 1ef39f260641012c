import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatAmount } from '../../shared/money/money.ts';
import { ConfigError, loadSettings } from '../../shared/platform/config.ts';
import { openDatabase, type RefundEvent } from '../../shared/platform/database.ts';
import type { PublicRefund } from '../../shared/refunds/model/refund.ts';
import type { DevFile } from './data-dir.ts';
import { StartError } from './program.ts';
import { startStack } from './stack.ts';
import { abortOnSignals } from './stop-signals.ts';

// npm run demo: one refund at each processor from creation to completion, on a temporary service.

/** Keeps the demo apart from a service that already runs on this machine. */
const ownPlace = {
  DATABASE_URL: undefined,
  REDIS_URL: undefined,
  ENCRYPTION_KEY: undefined,
  HOST: '127.0.0.1',
  PORT: '0',
};

const payments = [
  { processor: 'stripe', id: 'ch_demo', amount: 4900, currency: 'usd' },
  { processor: 'braintree', id: 'demosale', amount: 12_000, currency: 'eur' },
];

/** A part of each payment is refunded. */
const refundedAmount = 1500;

const completionTimeoutMs = 30_000;

const say = (line: string) => console.log(line);
/** The output of the processes, printed only when something fails. */
const log: string[] = [];
const dataDir = mkdtempSync(join(tmpdir(), 'refund-demo-'));
// As root, PostgreSQL runs as another user, who must be able to enter the folder.
chmodSync(dataDir, 0o711);
const env = { LOG_LEVEL: 'warn', ...process.env, ...ownPlace, DATA_DIR: dataDir };
const signal = abortOnSignals(env, () => say('Stopping ...'));

try {
  await main();
} catch (error) {
  if (!signal.aborted) for (const line of log) console.error(line);
  const expected = signal.aborted || error instanceof StartError || error instanceof ConfigError;
  console.error(
    signal.aborted ? 'Stopped before the demo was complete.' : expected ? (error as Error).message : error,
  );
  process.exitCode = 1;
}
rmSync(dataDir, { recursive: true, force: true });
process.exit();

async function main(): Promise<void> {
  say('Starting PostgreSQL, the sandbox, the API and a worker ...');
  const settings = loadSettings(env);
  const stack = await startStack({ settings, env, say: (line) => log.push(line), signal });
  try {
    for (const payment of payments) await refundOne(stack.description(), payment);
  } finally {
    await stack.stop();
  }
  say('Both refunds completed. Everything is stopped. To run the service: npm run dev');
}

async function refundOne(dev: DevFile, payment: (typeof payments)[number]): Promise<void> {
  await request(`${dev.sandboxUrl}/_sandbox/transactions`, payment);
  const { id: transactionId, processor, amount, currency } = payment;
  const created = await callApi(dev, '/v1/refunds', {
    transactionId,
    amount: refundedAmount,
    currency,
    reason: 'product_defective',
  });
  const completed = await untilCompleted(dev, created.id);
  const money = formatAmount(BigInt(refundedAmount), currency);
  say(
    `\nRefunded ${money} of ${formatAmount(BigInt(amount), currency)} through ${processor}: ${completed.id}\n`,
  );
  for (const line of await readTimeline(dev.databaseUrl, completed.id)) say(line);
  say('');
}

async function untilCompleted(dev: DevFile, id: string): Promise<PublicRefund> {
  const giveUpAt = performance.now() + completionTimeoutMs;
  while (performance.now() < giveUpAt) {
    signal.throwIfAborted();
    // Answered when the status changes, at the latest after three seconds.
    const refund = await callApi(dev, `/v1/refunds/${id}`, undefined, { prefer: 'wait=3' });
    if (refund.status === 'completed') return refund;
    if (refund.status !== 'processing') throw new StartError(`Refund ${id} is ${refund.status}.`);
  }
  throw new StartError(`Refund ${id} was not completed within ${completionTimeoutMs / 1000} seconds.`);
}

async function callApi(
  dev: DevFile,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<PublicRefund> {
  const authorization = `Bearer ${dev.keys.test}`;
  const answer = await request(`${dev.apiUrl}${path}`, body, { authorization, ...headers });
  return (answer as { data: PublicRefund }).data;
}

/** GET without a body, POST with one. */
async function request(url: string, body?: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const content = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(url, { ...content, headers: { ...type, ...headers } });
  const answer = await response.json();
  if (response.ok) return answer;
  throw new StartError(
    `${url} answered ${response.status}: ${(answer as { error: { message: string } }).error.message}`,
  );
}

/** The timeline of a refund, a line per event with the time since the first. */
export async function readTimeline(databaseUrl: string, refundId: string): Promise<string[]> {
  const db = openDatabase(databaseUrl, { poolSize: 1 });
  try {
    const events = await db.refundEvent.findMany({ where: { refundId }, orderBy: { seq: 'asc' } });
    const startedAt = events[0]?.createdAt.getTime() ?? 0;
    return events.map((event) => describe(event, startedAt));
  } finally {
    await db.$disconnect();
  }
}

function describe({ type, actor, status, detail, createdAt }: RefundEvent, startedAt: number): string {
  const seconds = ((createdAt.getTime() - startedAt) / 1000).toFixed(2);
  const who = actor.replace(/^key:.*/, 'API key');
  const facts = Object.values(detail as Record<string, unknown>)
    .filter(isFact)
    .join(', ');
  return `${seconds.padStart(7)} s  ${type.padEnd(20)} ${status.padEnd(11)} ${who.padEnd(9)} ${facts}`.trimEnd();
}

function isFact(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
