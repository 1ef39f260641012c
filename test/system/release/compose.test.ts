import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type SandboxControl, sandboxControl } from '../../sandbox/clients.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { type RunningSandbox, startSandbox } from '../../sandbox/server.ts';
import {
  buildImage,
  type ComposeProject,
  type Container,
  openComposeProject,
  removeImage,
} from '../../support/containers/compose-project.ts';
import '../../support/processes/run-servers.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { type SteadyLoad, startSteadyLoad } from '../../support/refunds/steady-load.ts';
import { type WaitOptions, waitFor } from '../../support/wait-for.ts';

const compose = inject('compose');
const name = `refund-test-${randomBytes(4).toString('hex')}`;
/** The next version: the same one under another name, because upgrade.test.ts compares versions. */
const next = `${name}-next`;
const minuteMs = 60_000;
const patient: WaitOptions = { timeoutMs: 5 * minuteMs, intervalMs: 250 };

describe.runIf(compose !== null)('the image, deployed by docker-compose.yml', () => {
  const inFolder = useTemporaryFolder();
  let sandbox: RunningSandbox;
  let control: SandboxControl;
  let project: ComposeProject;
  let url: string;
  let load: SteadyLoad;

  beforeAll(async () => {
    await buildImage(name);
    const PORT = String(await freePort());
    url = `http://127.0.0.1:${PORT}`;
    const settings = { TRUSTED_PROXIES: 'none', PORT, REFUND_SERVICE_IMAGE: name };
    project = await openComposeProject(compose ?? [], inFolder(), name, settings);
    sandbox = await startSandbox({ port: 0, host: '0.0.0.0' });
    control = sandboxControl(sandbox.url);
    await project.compose('up', '--detach', '--no-build');
  }, 60 * minuteMs);

  afterAll(async () => {
    await project?.compose('down', '--volumes', '--timeout', '5');
    await removeImage(name);
    await removeImage(next);
    await sandbox?.close();
  }, 5 * minuteMs);

  async function container(service: string): Promise<Container> {
    const [found] = await project.containers(service);
    if (found === undefined) throw new Error(`${service} has no container.`);
    return found;
  }

  /** Waits until a service has this many containers, all in a state of health. */
  async function untilHealthy(service: string, count = 1): Promise<Container[]> {
    return await waitFor(
      `${count} of ${service} to be healthy`,
      async () => {
        const all = await project.containers(service);
        const healthy = all.filter(({ State }) => State.Health?.Status === 'healthy');
        return all.length === count && healthy.length === count ? all : null;
      },
      patient,
    );
  }

  /** Sends a signal to the service's process, which is the child of the container's first one. */
  function signal(to: Container, signal: 'KILL' | 'STOP' | 'CONT'): Promise<string> {
    return project.exec(to, ['sh', '-c', `kill -${signal} $(cat /proc/1/task/1/children)`]);
  }

  async function setUpOrganization(): Promise<string> {
    const api = await container('api');
    const admin = (input: string, ...args: string[]) =>
      project.exec(api, ['node', 'dist/api/cli/main.js', ...args], input);
    const organization = await admin('', 'organization', 'create', '--name', 'Acme Inc');
    const place = ['--organization', organization, '--environment', 'test'];
    const address = sandbox.url.replace('127.0.0.1', await project.hostAddress());
    for (const [processor, credentials] of Object.entries(sandboxCredentials('test', address))) {
      await admin(JSON.stringify(credentials), 'account', 'set', ...place, '--processor', processor);
    }
    return await admin('', 'key', 'create', ...place);
  }

  test('becomes healthy from secrets in files, once its database is migrated', async () => {
    await Promise.all(['api', 'worker', 'postgres', 'redis'].map((service) => untilHealthy(service)));
    expect((await container('migrate')).State).toMatchObject({ Status: 'exited', ExitCode: 0 });
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ status: 'ok' });
    const refused = await project.exec(await container('redis'), ['redis-cli', 'ping']);
    expect(refused).toMatch(/^NOAUTH/);
  });

  test.each(['api', 'worker'])(
    'runs %s without root, rights to write, unbounded memory or secrets in its environment',
    async (service) => {
      const running = await container(service);
      expect(await project.exec(running, ['id', '-u'])).not.toBe('0');
      await expect(project.exec(running, ['touch', '/app/file'])).rejects.toThrow('Read-only file system');
      const heap = ['node', '-p', 'v8.getHeapStatistics().heap_size_limit'];
      const heapBytes = Number(await project.exec(running, heap));
      expect(heapBytes).toBeLessThan(running.HostConfig.Memory * 0.75);
      const environment = await project.exec(running, ['cat', '/proc/1/environ']);
      for (const file of readdirSync(inFolder('secrets'))) {
        expect(environment).not.toContain(readFileSync(inFolder('secrets', file), 'utf8').trim());
      }
    },
  );

  test(
    'fails no client while a worker is killed, frozen and joined by others, the stores restart, and it is upgraded',
    async () => {
      const key = await setUpOrganization();
      load = startSteadyLoad({ urls: [url], control, key, pauseMs: 250 });
      const [worker] = await untilHealthy('worker');
      if (worker === undefined) throw new Error('There is no worker.');
      await load.until(10);

      await signal(worker, 'KILL');
      await waitFor('the engine to start it again', async () => (await container('worker')).RestartCount > 0);
      await untilHealthy('worker');
      await load.until(20);

      await signal(worker, 'STOP');
      await waitFor(
        'the frozen worker to be unhealthy',
        async () => (await container('worker')).State.Health?.Status === 'unhealthy',
        patient,
      );
      await project.compose('up', '--detach', '--no-build', '--no-recreate', '--scale', 'worker=3');
      await signal(worker, 'CONT');
      await untilHealthy('worker', 3);
      await load.until(30);

      for (const store of ['redis', 'postgres']) {
        await project.compose('restart', store);
        await untilHealthy(store);
        await load.until(load.count() + 10);
      }

      await buildImage(next);
      const env = readFileSync(inFolder('.env'), 'utf8');
      writeFileSync(inFolder('.env'), env.replace(`=${name}\n`, `=${next}\n`));
      await project.compose('up', '--detach', '--no-build', '--scale', 'worker=3');
      await Promise.all([untilHealthy('api'), untilHealthy('worker', 3)]);
      await load.until(load.count() + 10);
    },
    20 * minuteMs,
  );

  test(
    'has lost and doubled no refund then, nor after a restore from a backup of before the last ones',
    async () => {
      const inPostgres = async (...command: string[]) =>
        await project.exec(await container('postgres'), command);
      const as = '--username=refunds';
      const since = new Date().toISOString();
      await inPostgres('pg_dump', as, '--format=custom', '--file=/tmp/refunds.dump', 'refunds');
      await load.until(load.count() + 10);
      const { accepted, moved } = await load.end();
      expect(moved).toEqual(accepted);

      await project.compose('stop', 'api', 'worker');
      const rename = 'ALTER DATABASE refunds RENAME TO refunds_before';
      await inPostgres('psql', as, '--dbname=postgres', '--command', rename);
      await inPostgres('createdb', as, 'refunds');
      await inPostgres('pg_restore', as, '--dbname=refunds', '/tmp/refunds.dump');
      await project.compose(
        'run',
        '--rm',
        '-T',
        'api',
        'node',
        'dist/api/cli/main.js',
        'recover',
        '--since',
        since,
      );
      await project.compose('up', '--detach', '--no-build', '--scale', 'worker=2');
      await untilHealthy('api');
      await untilHealthy('worker', 2);

      expect(await load.repeat()).toEqual([]);
      expect(await load.end()).toEqual({ accepted, moved });
      console.log(`${accepted.length} refunds were accepted and moved, 0 lost, 0 doubled`);
    },
    20 * minuteMs,
  );
});
