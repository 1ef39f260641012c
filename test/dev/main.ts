import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, loadSettings } from '../../shared/config.ts';
import { devFilePath } from './dev-file.ts';
import { type Stack, startStack } from './stack.ts';
import { StartError } from './start-error.ts';

// `npm run dev`: the whole service on a machine that has Node and nothing else.

const env: NodeJS.ProcessEnv = { LOG_LEVEL: 'warn', ...process.env };
const stopping = new AbortController();

/** npm and the terminal both pass Ctrl-C on, so one press arrives twice; a second press comes later than this. */
const samePressMs = 1_000;

async function main(): Promise<void> {
  stopOnSignals();
  const stack = await startStack({
    settings: loadSettings(env),
    env,
    say: (line) => console.log(line),
    signal: stopping.signal,
  });
  console.log(welcome(stack));
  await untilAborted(stopping.signal);
  await stack.stop();
  console.log('Everything has stopped.');
}

function stopOnSignals(): void {
  let firstAt: number | null = null;
  const onSignal = () => {
    if (firstAt !== null && performance.now() - firstAt < samePressMs) return;
    // Whatever is left is ended by the reapers, which notice that we are gone.
    if (firstAt !== null) process.exit(1);
    firstAt = performance.now();
    console.log('\nStopping ...');
    stopping.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  if (env.npm_lifecycle_event !== undefined) void stopWithParent(process.ppid);
}

/** An npm that is killed outright passes nothing on, and would leave all of this running unseen. */
async function stopWithParent(npm: number): Promise<void> {
  while (process.ppid === npm) await sleep(500, null, { ref: false });
  stopping.abort();
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function welcome(stack: Stack): string {
  const { apiUrl, keys, dashboard, sandboxUrl } = stack.description();
  return `
The refund service is ready.

  API         ${apiUrl}/docs
  Dashboard   ${dashboard.url}   ${dashboard.email}   ${dashboard.password}
  Sandbox     ${sandboxUrl}   plays Stripe and Braintree; no money moves
  Keys        ${devFilePath(stack.dataDir)}

Make a refund:

  curl -s ${apiUrl}/v1/refunds \\
    -H 'authorization: Bearer ${keys.test}' \\
    -H 'content-type: application/json' \\
    -d '{"transactionId": "ch_first", "amount": 1500, "reason": "product_defective"}'

Ctrl-C stops everything.
`;
}

try {
  await main();
  process.exit(0);
} catch (error) {
  if (stopping.signal.aborted) process.exit(0);
  const expected = error instanceof StartError || error instanceof ConfigError;
  console.error(expected ? error.message : error);
  process.exit(1);
}
