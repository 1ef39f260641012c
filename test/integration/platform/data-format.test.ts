import { expect, onTestFinished, test } from 'vitest';
import { closeDependencies, openDependencies, untilClockStarted } from '#shared/dependencies.ts';
import { dataFormat } from '#shared/platform/data-format.ts';
import { openLog } from '#shared/platform/log.ts';
import { query } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

const start = async () => {
  const deps = openDependencies(service.settings, openLog('silent', 'test'));
  try {
    await untilClockStarted(deps);
  } finally {
    await closeDependencies(deps);
  }
};

const define = (format: number) =>
  query(
    service.databaseUrl,
    `CREATE OR REPLACE FUNCTION data_format() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT ${format} $$`,
  );

test.each([
  ['a newer version has migrated, which cannot share it', dataFormat + 1, /A newer version has migrated/],
  ['was not migrated to a version that cannot share it', dataFormat - 1, /has not been migrated/],
])('a process refuses to start on a database that %s', async (_what, format, refusal) => {
  await start();
  onTestFinished(async () => void (await define(dataFormat)));
  await define(format);
  await expect(start()).rejects.toThrow(refusal);
});

test('a process refuses to start on a database of a version that had no such number', async () => {
  onTestFinished(async () => void (await define(dataFormat)));
  await query(service.databaseUrl, 'DROP FUNCTION data_format()');
  await expect(start()).rejects.toThrow(/has not been migrated/);
});
