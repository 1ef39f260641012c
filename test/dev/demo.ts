import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Refund, RefundApiError, RefundClient } from '#shared/client/index.ts';
import { formatAmount } from '#shared/money/money.ts';
import { ConfigError, loadSettings } from '#shared/platform/config.ts';
import { openDatabase, type RefundEvent } from '#shared/platform/database.ts';
import { sandboxControl } from '../sandbox/clients.ts';
import type { DevFile } from './data-dir.ts';
import { StartError } from './program.ts';
import { startStack } from './stack.ts';
import { abortOnSignals } from './stop-signals.ts';

// npm run demo: one refund at each processor from creation to completion, on a temporary service.

/** Keeps the demo apart from a service that already runs on this machine. */
const ownPlace = {
  DATABASE_URL: undefined,
  DATABASE_OWNER_URL: undefined,
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

/** The longest that the API waits. */
const completionTimeoutSeconds = 30;

const say = (line: string) => console.log(line);
/** The output of the processes, printed only when something fails. */
const log: string[] = [];
const dataDir = mkdtempSync(join(tmpdir(), 'refund-demo-'));
// As root, PostgreSQL runs as another user, who must be able to enter the folder.
chmodSync(dataDir, 0o711);
const env = { LOG_LEVEL: 'warn', NO_PROXY: '127.0.0.1', ...process.env, ...ownPlace, DATA_DIR: dataDir };
const signal = abortOnSignals(env, () => say('Stopping ...'));

try {
  await main();
} catch (error) {
  if (!signal.aborted) for (const line of log) console.error(line);
  const expected =
    signal.aborted || [StartError, ConfigError, RefundApiError].some((kind) => error instanceof kind);
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
  await sandboxControl(dev.sandboxUrl).transaction(payment);
  const client = new RefundClient({ baseUrl: dev.apiUrl, apiKey: dev.keys.test });
  const { id: transactionId, processor, amount, currency } = payment;
  const created = await client.refunds.create(
    { transactionId, amount: refundedAmount, currency, reason: 'product_defective' },
    { signal },
  );
  const completed = await untilCompleted(client, created.id);
  const money = formatAmount(BigInt(refundedAmount), currency);
  say(
    `\nRefunded ${money} of ${formatAmount(BigInt(amount), currency)} through ${processor}: ${completed.id}\n`,
  );
  for (const line of await readTimeline(dev.databaseUrl, completed.id)) say(line);
  say('');
}

async function untilCompleted({ refunds }: RefundClient, id: string): Promise<Refund> {
  const refund = await refunds.get(id, { wait: completionTimeoutSeconds, signal });
  if (refund.status === 'completed') return refund;
  throw new StartError(`Refund ${id} is ${refund.status} after ${completionTimeoutSeconds} seconds.`);
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
