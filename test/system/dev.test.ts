import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RefundClient } from '#shared/client/index.ts';
import { settingNames } from '#shared/platform/config.ts';
import { type DevFile, readDevFile } from '../dev/data-dir.ts';
import { type StartedProcess, startProcess } from '../support/processes/child-process.ts';
import { freePort } from '../support/processes/free-port.ts';
import { releaseTest } from '../support/release.ts';
import { waitFor } from '../support/wait-for.ts';

// Each test continues where the one before it ended.
describe('npm run dev', () => {
  // With a blank in the path, as in many home folders.
  const folder = mkdtempSync(join(tmpdir(), 'refund dev-'));
  const dataDir = join(folder, '.data');
  let port: number;
  let dev: StartedProcess;
  let first: DevFile;
  let refundId: string;
  let client: RefundClient;

  const start = async () => {
    const started = startDev({ DATA_DIR: dataDir, PORT: String(port) });
    await started.waitForOutput(/Press Ctrl-C/);
    return started;
  };
  const ready = async () => await fetch(`${first.apiUrl}/readyz`);

  beforeAll(async () => {
    port = await freePort();
    dev = await start();
    first = readDev(dataDir);
    client = new RefundClient({ baseUrl: first.apiUrl, apiKey: first.keys.test, maxRetries: 10 });
  });

  afterAll(async () => {
    await dev.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('writes addresses, keys and process ids to dev.json, which only its owner can read', () => {
    const path = join(dataDir, 'dev.json');
    const apiUrl = `http://127.0.0.1:${port}`;
    expect(JSON.parse(readFileSync(path, 'utf8'))).toStrictEqual({
      apiUrl,
      organizationId: expect.stringMatching(/^org_/),
      keys: { test: expect.stringMatching(/^svc_test_/), live: expect.stringMatching(/^svc_live_/) },
      dashboard: { url: `${apiUrl}/dashboard`, email: expect.any(String), password: expect.any(String) },
      sandboxUrl: expect.stringMatching(/^http:/),
      databaseUrl: expect.stringMatching(/^postgresql:\/\/refunds_service:/),
      databaseOwnerUrl: expect.stringMatching(/^postgresql:\/\/postgres:/),
      redisUrl: null,
      processes: {
        api: expect.any(Number),
        workers: [expect.any(Number)],
        sandbox: expect.any(Number),
      },
    });
    // Others, and the account that runs PostgreSQL for root, reach nothing in the folder.
    for (const secret of [dataDir, path, join(dataDir, 'encryption.key'), join(dataDir, 'sandbox.journal')]) {
      expect(statSync(secret).mode & 0o077, secret).toBe(0);
    }
    expect(allOf(first).every(isAlive)).toBe(true);
  });

  test('completes a refund', async () => {
    // A worker is known from its first heartbeat on, which comes within a second.
    await waitFor('a worker', async () => (await (await ready()).json()).status === 'ok');
    const refund = { transactionId: 'ch_first', amount: 1500, reason: 'product_defective' } as const;
    const { id, status } = await client.refunds.create(refund);
    expect(status).toBe('processing');
    refundId = id;
    expect(await client.refunds.get(id, { wait: 30 })).toMatchObject({ status: 'completed' });
  });

  test('fails a refund when the sandbox sends a webhook that its money was returned', async () => {
    const refund = { transactionId: 'ch_returned', amount: 700, reason: 'other' } as const;
    const { id, externalRefundId } = await client.refunds.create(refund);
    expect(await client.refunds.get(id, { wait: 30 })).toMatchObject({ status: 'completed' });
    const driven = await fetch(`${first.sandboxUrl}/_sandbox/refunds/${externalRefundId}`, {
      method: 'POST',
      body: JSON.stringify({ status: 'failed', failureReason: 'expired_or_canceled_card' }),
    });
    expect(driven.status).toBe(200);
    const isFailed = async () => (await client.refunds.get(id)).status === 'failed';
    await waitFor('the refund to be failed', isFailed);
  });

  test('does what the first refund of the README does, pasted as written', async () => {
    const page = readFileSync('README.md', 'utf8');
    const [, commands = ''] = /^## Your first refund$.*?^```sh$(.*?)^```$/ms.exec(page) ?? [];
    const { stdout } = await promisify(execFile)('sh', ['-c', commands], { cwd: folder });
    const answers = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
    const [created, read, listed, cancelled, checked, ...others] = answers;
    expect(others).toEqual([]);
    expect(created.data).toMatchObject({ transactionId: 'ch_order1001', amount: 1_500, currency: 'usd' });
    expect(read.data.id).toBe(created.data.id);
    expect(listed).toMatchObject({ data: expect.any(Array), hasMore: false });
    // Whether the worker was faster is left to chance, as the page says.
    expect(['cancelled', 'refund_not_cancellable']).toContain(cancelled.data?.status ?? cancelled.error.code);
    expect(checked.data).toMatchObject({ eligible: false, maxAmount: 8_500 });
  });

  test('says why it does not start when its data directory or its port is in use', async () => {
    const twin = startDev({ DATA_DIR: dataDir, PORT: String(await freePort()) });
    const neighbour = startDev({ DATA_DIR: join(folder, 'other'), PORT: String(port) });
    expect(await twin.exited).toEqual({ code: 1, signal: null });
    expect(twin.output()).toMatch(
      new RegExp(`^npm run dev already runs in .* \\(process ${dev.pid}\\)\\..*\\n$`),
    );
    expect(await neighbour.exited).toEqual({ code: 1, signal: null });
    expect(neighbour.output()).toMatch(new RegExp(`^Another program uses port ${port}\\..*\\n$`));
  });

  test('restarts killed processes and writes their new ids to dev.json', async () => {
    // The worker is started again by the same function.
    const { api, sandbox } = readDev(dataDir).processes;
    const killed = [api, sandbox];
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await waitFor('other processes', () =>
      allOf(readDev(dataDir)).every((pid) => !killed.includes(pid) && isAlive(pid)),
    );
    await dev.waitForUrl(`${first.apiUrl}/readyz`);
    const again = { transactionId: 'ch_second', amount: 100, reason: 'other' } as const;
    expect(await client.refunds.create(again)).toMatchObject(again);
  });

  test('leaves no process behind at SIGTERM', async () => {
    const before = [...allOf(readDev(dataDir)), postgresOf(dataDir)];
    expect(before.every(isAlive)).toBe(true);
    expect(await dev.stop()).toEqual({ code: 0, signal: null });
    expect(before.filter(isAlive)).toEqual([]);
  });

  releaseTest('keeps keys and data at its next start', async () => {
    dev = await start();
    const { processes: _, ...kept } = readDev(dataDir);
    expect(kept).toEqual({ ...kept, organizationId: first.organizationId, keys: first.keys });
    expect([kept.dashboard, kept.sandboxUrl]).toEqual([first.dashboard, first.sandboxUrl]);
    const refund = await client.refunds.get(refundId);
    expect([refund.id, refund.status]).toEqual([refundId, 'completed']);
  });

  releaseTest('ends all its processes when it is killed, and starts again', async () => {
    const before = [...allOf(readDev(dataDir)), postgresOf(dataDir)];
    await dev.kill9();
    await waitFor('all of its processes to end', () => !before.some(isAlive));
    dev = await start();
    expect((await ready()).status).toBe(200);
  });
});

function startDev(env: Record<string, string>): StartedProcess {
  // Without the settings of this shell.
  const unset = Object.fromEntries(settingNames.map((name) => [name, undefined]));
  return startProcess('test/dev/main.ts', { env: { ...unset, npm_lifecycle_event: undefined, ...env } });
}

function readDev(dataDir: string): DevFile {
  const content = readDevFile(dataDir);
  if (content === null) throw new Error('dev.json is missing or not valid.');
  return content;
}

function allOf({ processes: { api, workers, sandbox } }: DevFile): number[] {
  return [api, ...workers, sandbox];
}

function postgresOf(dataDir: string): number {
  return Number.parseInt(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

/** False for a zombie. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
