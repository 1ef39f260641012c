import { ConfigError, loadSettings } from '#shared/platform/config.ts';
import { devFilePath } from './data-dir.ts';
import { StartError } from './program.ts';
import { type Stack, startStack } from './stack.ts';
import { abortOnSignals } from './stop-signals.ts';

// npm run dev: the whole service on a machine that has only Node.

// The sandbox is on this machine, where a proxy does not reach it.
const env: NodeJS.ProcessEnv = { LOG_LEVEL: 'warn', NO_PROXY: '127.0.0.1', ...process.env };
const say = (line: string) => console.log(line);
const signal = abortOnSignals(env, () => say('\nStopping ...'));

try {
  const stack = await startStack({ settings: loadSettings(env), env, say, signal });
  say(welcome(stack));
  await untilAborted();
  await stack.stop();
  say('Stopped.');
  process.exit(0);
} catch (error) {
  if (signal.aborted) process.exit(0);
  const expected = error instanceof StartError || error instanceof ConfigError;
  console.error(expected ? error.message : error);
  process.exit(1);
}

function untilAborted(): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    // The supervised programs keep this process running.
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function welcome(stack: Stack): string {
  const { apiUrl, keys, sandboxUrl, dashboard } = stack.description();
  return `
The refund service is ready.

  API         ${apiUrl}/docs
  Sandbox     ${sandboxUrl}   simulates the processors; no money moves
  Mail        ${sandboxUrl}/_sandbox/mail   what people are sent; nothing leaves this machine
  Dashboard   ${dashboard.url}   ${dashboard.email}, password ${dashboard.password}
  Keys        ${devFilePath(stack.dataDir)}

Create a refund:

  curl -s ${apiUrl}/v1/refunds \\
    -H 'authorization: Bearer ${keys.test}' \\
    -H 'content-type: application/json' \\
    -d '{"transactionId": "ch_first", "amount": 1500, "reason": "product_defective"}'

Press Ctrl-C to stop everything.
`;
}
