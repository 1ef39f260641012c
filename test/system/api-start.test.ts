import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import Fastify from 'fastify';
import { beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import { type App, buildApp } from '#api/app.ts';
import { handOverUnknown } from '#api/hand-over.ts';
import { answerErrors } from '#api/http/error-handler.ts';
import type { Api } from '#api/http/route.ts';
import { openLog } from '#shared/platform/log.ts';
import { startProcess } from '../support/processes/child-process.ts';
import { compiledIn } from '../support/processes/compiled-service.ts';
import { freePort } from '../support/processes/free-port.ts';
import { useService } from '../support/use-service.ts';
import { waitFor } from '../support/wait-for.ts';

const service = useService({ workers: 0 });

describe('the API', () => {
  test('listens before it loads what only pages, queues, processors and agents need', async () => {
    const api = startProcess(compiledIn(inject('compiledFolder')).entry('api/main.js'), {
      env: {
        // Nothing listens there: the process loads the same files without a database.
        DATABASE_URL: 'postgresql://postgres@127.0.0.1:1/refunds',
        ENCRYPTION_KEY: service.settings.ENCRYPTION_KEY,
        REDIS_URL: '',
        PORT: '0',
      },
      preload: 'test/support/processes/loaded-packages.js',
    });
    onTestFinished(async () => {
      await api.kill9();
    });
    const [, list = ''] = await api.waitForOutput(/^loaded when it listens: (.*)$/m);
    const loaded = list.split(' ');
    expect(loaded).toEqual(expect.arrayContaining(['fastify', 'zod', 'pg', 'api/operations/refunds.js']));
    const late =
      /^(preact|d3-|@bull-board\/|@fastify\/(swagger|session|static)|ajv$|@node-rs\/|bullmq$|ioredis$|stripe$|braintree$|@modelcontextprotocol\/|@opentelemetry\/|api\/dashboard\/)/;
    expect(loaded.filter((name) => late.test(name))).toEqual([]);
  });
});

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

describe('before the browser part is loaded', () => {
  let app: App['app'];
  let logged: { msg: string; reqId: string; res?: { statusCode: number } }[];
  beforeEach(async () => {
    const { deps } = service;
    logged = [];
    const write = (line: string) => logged.push(JSON.parse(line));
    const log = openLog('info', 'test', { write });
    ({ app } = await buildApp({ ...deps, log, dashboardDb: deps.db }));
    return () => app.close();
  });

  test.each([
    ['/dashboard', 303],
    ['/openapi.json', 200],
  ])('a request for %s waits for it and gets %i', async (url, status) => {
    expect((await app.inject(url)).statusCode).toBe(status);
  });

  test('the body of a request is passed on completely', async () => {
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    const url = `${origin}/dashboard/set-up`;
    const page = await fetch(url);
    const [, token = ''] = /name="_csrf" value="([^"]+)"/.exec(await page.text()) ?? [];
    const cookie = page.headers.getSetCookie().map((one) => one.split(';', 1)[0]);
    const form = new URLSearchParams({ _csrf: token, organizationName: 'x'.repeat(40_000) });
    const answer = await fetch(url, {
      method: 'POST',
      headers: { cookie: cookie.join('; '), origin },
      body: form,
    });
    expect(await answer.text()).toContain('x'.repeat(40_000));
  });

  test('a request is logged once, with the id of its response', async () => {
    const { headers } = await app.inject('/dashboard/nothing');
    const lines = logged.filter(({ msg }) => /^(incoming request|request completed)$/.test(msg));
    expect(lines.map(({ msg, reqId, res }) => [msg, reqId, res?.statusCode])).toEqual([
      ['request completed', headers['x-request-id'], 404],
    ]);
  });

  test('a waiting request is answered when the process closes', async () => {
    const answer = app.inject('/openapi.json');
    const closed = app.close();
    expect((await answer).statusCode).toBe(200);
    await closed;
  });
});

describe('an application with a second one for unknown routes', () => {
  function firstApp(build: () => Promise<Api>) {
    const app: Api = Fastify().withTypeProvider();
    answerErrors(app, openLog('silent', 'test'));
    handOverUnknown(app, build);
    app.get('/known', async () => 'first');
    onTestFinished(() => app.close());
    return app;
  }

  test('answers its own requests when the second one cannot be loaded', async () => {
    const app = firstApp(async () => {
      throw new Error('It cannot be loaded.');
    });
    for (let request = 0; request < 2; request += 1) {
      const refused = await app.inject('/unknown');
      expect([refused.statusCode, refused.json().error.code]).toEqual([500, 'internal_error']);
      expect((await app.inject('/known')).body).toBe('first');
    }
  });
});
