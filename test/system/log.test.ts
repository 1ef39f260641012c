import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { expect, inject, onTestFinished, test } from 'vitest';
import { buildApp } from '#api/app.ts';
import { openLog } from '#shared/platform/log.ts';
import { compiledIn } from '../support/processes/compiled-service.ts';
import { freePort } from '../support/processes/free-port.ts';
import { useService } from '../support/use-service.ts';
import { waitFor } from '../support/wait-for.ts';

const service = useService({ workers: 0 });

test('a full disk under its log does not end a process', async () => {
  const port = await freePort();
  const full = openSync('/dev/full', 'w');
  const api = spawn(process.execPath, [compiledIn(inject('compiledFolder')).entry('api/main.js')], {
    env: {
      DATABASE_URL: 'postgresql://postgres@127.0.0.1:1/refunds',
      ENCRYPTION_KEY: service.settings.ENCRYPTION_KEY,
      PORT: String(port),
    },
    stdio: ['ignore', full, 'ignore'],
  });
  onTestFinished(() => {
    api.kill('SIGKILL');
    closeSync(full);
  });
  const answered = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor('an answer', async () => api.exitCode !== null || (await answered()));
  // Listening was logged before.
  expect([api.exitCode, await answered()]).toEqual([null, true]);
});

test('a request for a page is logged once, with the id of its response', async () => {
  const { deps } = service;
  const logged: { msg: string; reqId: string; res?: { statusCode: number } }[] = [];
  const log = openLog('info', 'test', { write: (line: string) => logged.push(JSON.parse(line)) });
  const app = await buildApp({ ...deps, log, dashboardDb: deps.db });
  onTestFinished(() => app.close());
  const { headers } = await app.inject('/dashboard/nothing');
  const lines = logged.filter(({ msg }) => /^(incoming request|request completed)$/.test(msg));
  expect(lines.map(({ msg, reqId, res }) => [msg, reqId, res?.statusCode])).toEqual([
    ['request completed', headers['x-request-id'], 404],
  ]);
});
