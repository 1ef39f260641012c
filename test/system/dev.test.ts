import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { settingNames } from '../../shared/platform/config.ts';
import type { PublicRefund } from '../../shared/refunds/model/refund.ts';
import { type DevFile, readDevFile } from '../dev/dev-file.ts';
import { type KeptProgram, keepRunning } from '../dev/program.ts';
import { startSandbox } from '../dev/start-sandbox.ts';
import { type StartedProcess, startProcess } from '../support/processes/child-process.ts';
import { freePort } from '../support/processes/free-port.ts';
import { useSandbox } from '../support/processors/use-sandbox.ts';
import { waitFor } from '../support/wait-for.ts';

/** The tests tell one story, each going on where the one before it ended. */
describe('npm run dev', () => {
  // A blank in the path, as in many home folders.
  const folder = mkdtempSync(join(tmpdir(), 'refund dev-'));
  const dataDir = join(folder, 'data');
  let port: number;
  let dev: StartedProcess;
  let first: DevFile;
  let refundId: string;

  const start = async () => {
    const started = startDev({ DATA_DIR: dataDir, PORT: String(port) });
    await started.waitForOutput(/Ctrl-C stops everything/);
    return started;
  };
  const call = (path: string, body?: object) =>
    fetch(`${first.apiUrl}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${first.keys.test}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  beforeAll(async () => {
    port = await freePort();
    dev = await start();
    first = readDev(dataDir);
  });

  afterAll(async () => {
    await dev.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('writes down where everything is, for us alone to read', () => {
    const path = join(dataDir, 'dev.json');
    const apiUrl = `http://127.0.0.1:${port}`;
    expect(JSON.parse(readFileSync(path, 'utf8'))).toStrictEqual({
      apiUrl,
      organizationId: expect.stringMatching(/^org_/),
      keys: { test: expect.stringMatching(/^svc_test_/), live: expect.stringMatching(/^svc_live_/) },
      dashboard: { url: `${apiUrl}/dashboard`, email: expect.any(String), password: expect.any(String) },
      sandboxUrl: expect.stringMatching(/^http:/),
      databaseUrl: expect.stringMatching(/^postgresql:/),
      redisUrl: null,
      processes: {
        api: expect.any(Number),
        workers: [expect.any(Number)],
        sandbox: expect.any(Number),
      },
    });
    for (const secret of [path, join(dataDir, 'encryption.key')])
      expect(statSync(secret).mode & 0o077).toBe(0);
    expect(allOf(first).every(isAlive)).toBe(true);
  });

  test('is ready, and makes a refund that gets through', async () => {
    expect(await (await call('/readyz')).json()).toEqual({ status: 'ok', database: 'up', queue: 'up' });
    const answer = await call('/v1/refunds', {
      transactionId: 'ch_first',
      amount: 1500,
      reason: 'product_defective',
    });
    const created = await refundIn(answer);
    expect([answer.status, created.status]).toEqual([200, 'processing']);
    refundId = created.id;
    await waitFor('the refund to be completed', async () => {
      const refund = await refundIn(await call(`/v1/refunds/${refundId}`));
      return refund.status === 'completed';
    });
  });

  test('hears from the sandbox that the money of a refund came back', async () => {
    const body = { transactionId: 'ch_returned', amount: 700, reason: 'other' };
    const { id, externalRefundId } = await refundIn(await call('/v1/refunds', body));
    const statusOf = async () => (await refundIn(await call(`/v1/refunds/${id}`))).status;
    await waitFor('the refund to be completed', async () => (await statusOf()) === 'completed');
    const driven = await fetch(`${first.sandboxUrl}/_sandbox/refunds/${externalRefundId}`, {
      method: 'POST',
      body: JSON.stringify({ status: 'failed', failureReason: 'expired_or_canceled_card' }),
    });
    expect(driven.status).toBe(200);
    await waitFor('the refund to be failed', async () => (await statusOf()) === 'failed');
  });

  test('a second one on the same data, and one on the same port, say why they do not start', async () => {
    const twin = startDev({ DATA_DIR: dataDir, PORT: String(await freePort()) });
    expect(await twin.exited).toEqual({ code: 1, signal: null });
    expect(twin.output()).toMatch(
      new RegExp(`^npm run dev already runs on .* \\(process ${dev.pid}\\)\\..*\\n$`),
    );

    const neighbour = startDev({ DATA_DIR: join(folder, 'other'), PORT: String(port) });
    expect(await neighbour.exited).toEqual({ code: 1, signal: null });
    expect(neighbour.output()).toMatch(new RegExp(`^Port ${port} is taken by another program\\..*\\n$`));
  });

  test('starts again what was killed, under a process id that it writes down', async () => {
    for (const name of ['workers', 'api', 'sandbox'] as const) {
      const [killed = -1] = [readDev(dataDir).processes[name]].flat();
      process.kill(killed, 'SIGKILL');
      const pid = await waitFor(`another process as ${name}`, () => {
        const [newest = -1] = [readDev(dataDir).processes[name]].flat();
        return newest !== killed && isAlive(newest) && newest;
      });
      expect(pid).not.toBe(killed);
    }
    await dev.waitForUrl(`${first.apiUrl}/readyz`);
    const again = { transactionId: 'ch_second', amount: 100, reason: 'other' };
    await waitFor('the service to work again', async () => (await call('/v1/refunds', again)).status === 200);
  });

  test('SIGTERM leaves no process behind', async () => {
    const before = [...allOf(readDev(dataDir)), postgresOf(dataDir)];
    expect(before.every(isAlive)).toBe(true);
    expect(await dev.stop()).toEqual({ code: 0, signal: null });
    expect(before.filter(isAlive)).toEqual([]);
  });

  test('the next start keeps keys and data', async () => {
    dev = await start();
    const { processes: _, ...kept } = readDev(dataDir);
    expect(kept).toEqual({ ...kept, organizationId: first.organizationId, keys: first.keys });
    expect([kept.dashboard, kept.sandboxUrl]).toEqual([first.dashboard, first.sandboxUrl]);
    const refund = await refundIn(await call(`/v1/refunds/${refundId}`));
    expect([refund.id, refund.status]).toEqual([refundId, 'completed']);
  });

  test('killed itself, it takes everything along, and starts again', async () => {
    const before = [...allOf(readDev(dataDir)), postgresOf(dataDir)];
    await dev.kill9();
    await waitFor('all of its processes to end', () => !before.some(isAlive));
    dev = await start();
    expect((await call('/readyz')).status).toBe(200);
  });
});

describe('the sandbox of npm run dev', () => {
  const { sandbox: another } = useSandbox();
  const programs: KeptProgram[] = [];
  const lines: string[] = [];
  const startOn = (ports: number[]) =>
    startSandbox({
      // Free when they were looked at, and taken by the time the sandbox has started.
      ports: candidates(ports),
      launch(port) {
        const args = ['--port', String(port)];
        const program = { name: 'sandbox', entry: 'test/sandbox/main.ts', args, env: process.env };
        const kept = keepRunning(
          { ...program, showsOutput: false },
          { say: (line) => lines.push(line), onRestart: () => {} },
        );
        programs.push(kept);
        return kept;
      },
      signal: new AbortController().signal,
    });

  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.stop(1_000)));
  });

  test('moves on when another one has got its port, and leaves that one alone', async () => {
    const free = await freePort();
    const { url, program } = await startOn([another.port, free]);
    expect(url).toBe(`http://127.0.0.1:${free}`);
    expect(await (await fetch(`${url}/_sandbox/health`)).json()).toEqual({ ok: true, pid: program.pid() });
    expect(programs).toHaveLength(2);
    expect((await fetch(`${another.url}/_sandbox/health`)).status).toBe(200);
  });

  test('is not started again for ever when it gets none', async () => {
    await expect(startOn([another.port])).rejects.toThrow('the reason stands above');
    expect(lines.join('\n')).toContain('EADDRINUSE');
    expect(programs.map((program) => isAlive(program.pid()))).toEqual([false]);
  });
});

async function* candidates(ports: number[]): AsyncGenerator<number> {
  yield* ports;
}

test('npm run demo brings a refund through at each processor, and leaves nothing behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refund-demo-test-'));
  // The loader keeps there what it has compiled, and finds what others had it compile.
  const loaderCache = `tsx-${process.getuid?.()}`;
  mkdirSync(join(tmpdir(), loaderCache), { recursive: true });
  symlinkSync(join(tmpdir(), loaderCache), join(folder, loaderCache));
  const demo = startProcess('test/dev/demo.ts', { env: { TMPDIR: folder } });
  expect(await demo.exited, demo.output()).toEqual({ code: 0, signal: null });
  expect(demo.output().match(/back through (stripe|braintree)/g)).toHaveLength(2);
  expect(demo.output().match(/refund\.completed/g)).toHaveLength(2);
  expect(readdirSync(folder)).toEqual([loaderCache]);
  rmSync(folder, { recursive: true, force: true });
});

function startDev(env: Record<string, string>): StartedProcess {
  // What this machine has set is not meant for the one that is tested.
  const unset = Object.fromEntries(settingNames.map((name) => [name, undefined]));
  return startProcess('test/dev/main.ts', { env: { ...unset, npm_lifecycle_event: undefined, ...env } });
}

async function refundIn(answer: Response): Promise<PublicRefund> {
  return ((await answer.json()) as { data: PublicRefund }).data;
}

function readDev(dataDir: string): DevFile {
  const content = readDevFile(dataDir);
  if (content === null) throw new Error('There is no dev.json that can be read.');
  return content;
}

function allOf({ processes: { api, workers, sandbox } }: DevFile): number[] {
  return [api, ...workers, sandbox];
}

function postgresOf(dataDir: string): number {
  return Number.parseInt(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

/** A zombie has ended, even where nobody collects it. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
