import { parseArgs } from 'node:util';
import { sandboxProcessors } from './processors.ts';
import { startSandbox } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4010' },
    'data-file': { type: 'string' },
    'smtp-port': { type: 'string' },
  },
});

const sandbox = await startSandbox({
  port: Number(values.port),
  dataFile: values['data-file'],
  smtpPort: values['smtp-port'] === undefined ? null : Number(values['smtp-port']),
  report: (line) => console.error(`sandbox: ${line}`),
}).catch((error: Error) => {
  console.error(`sandbox: ${error.message}`);
  process.exit(1);
});
const titles = Object.values(sandboxProcessors).map(({ title }) => title);
console.log(`sandbox: ${titles.join(' and ')} on ${sandbox.url}`);

let closed: Promise<void> | undefined;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, async () => {
    closed ??= sandbox.close();
    await closed;
    process.exit(0);
  });
}
