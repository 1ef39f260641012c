import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { query } from '../../support/stores/database-client.ts';
import { type RunningPostgres, startPostgres } from '../../support/stores/embedded-postgres.ts';

describe('the PostgreSQL of a development machine', () => {
  const inFolder = useTemporaryFolder();
  let dataDir: string;
  beforeAll(() => {
    dataDir = inFolder('postgres');
  });

  test('keeps its data and its password from one start to the next', async () => {
    const first = await startPostgres({ dataDir, durable: true });
    await query(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await startPostgres({ dataDir, durable: true, port: first.port });
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    await second.stop();
  });

  test('cannot be started twice on one folder and names the owner', async () => {
    const running = await startPostgres({ dataDir, durable: true });
    await expect(startPostgres({ dataDir, durable: true })).rejects.toThrow(
      `The database in ${dataDir} is in use by process ${process.pid}`,
    );
    expect(await query(running.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await running.stop();
  });

  test('starts again after it was killed', async () => {
    const killed = await startPostgres({ dataDir, durable: true });
    process.kill(killed.pid, 'SIGKILL');
    await killed.exited;
    await expectToWork(await startPostgres({ dataDir, durable: true }));
  });

  test('starts despite a stale process id that belongs to another program', async () => {
    const stale = join(dataDir, 'postmaster.pid');
    writeFileSync(stale, `${process.pid}\n${dataDir}\n`);
    const running = await startPostgres({ dataDir, durable: true });
    expect(readFileSync(stale, 'utf8').split('\n')[0]).toBe(String(running.pid));
    await expectToWork(running);
  });
});

async function expectToWork(running: RunningPostgres): Promise<void> {
  expect(await query(running.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  await running.stop();
}
