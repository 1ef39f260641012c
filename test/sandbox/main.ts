import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { LockedError, takeLock } from '../support/processes/process-lock.ts';
import { sandboxProcessors } from './processors.ts';
import { startSandbox } from './server.ts';

const DEFAULT_PORT = '4010';

const { values } = parseArgs({
  options: { port: { type: 'string' }, host: { type: 'string' }, 'data-file': { type: 'string' } },
});

const port = Number(values.port ?? process.env.SANDBOX_PORT ?? DEFAULT_PORT);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error('sandbox: --port (or SANDBOX_PORT) must be a port number');
  process.exit(2);
}
const host = values.host ?? process.env.SANDBOX_HOST;
const dataFile = values['data-file'] ?? process.env.SANDBOX_DATA_FILE;

const releaseData = dataFile ? lockData(dataFile) : () => undefined;

const sandbox = await startSandbox({
  port,
  report: (line) => console.error(`sandbox: ${line}`),
  ...(host ? { host } : {}),
  ...(dataFile ? { dataFile } : {}),
}).catch((error: Error) => {
  console.error(`sandbox: ${error.message}`);
  process.exit(1);
});
const titles = Object.values(sandboxProcessors).map(({ title }) => title);
console.log(`sandbox: ${titles.join(' and ')} on ${sandbox.url}`);

let closing = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, async () => {
    if (closing) return;
    closing = true;
    await sandbox.close();
    releaseData();
    process.exit(0);
  });
}

/** Keeps two sandboxes from writing to the same file. */
function lockData(file: string): () => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    return takeLock(`${file}.lock`);
  } catch (error) {
    if (!(error instanceof LockedError)) throw error;
    console.error(
      `sandbox: another sandbox (process ${error.holder ?? 'just started'}) uses ${file}. Stop it or choose another file.`,
    );
    process.exit(1);
  }
}
