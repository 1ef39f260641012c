import { expect, test } from 'vitest';
import { dataFormat } from '#shared/platform/data-format.ts';
import { useDeployment } from '../support/faults/use-deployment.ts';
import { query } from '../support/stores/database-client.ts';
import { waitFor } from '../support/wait-for.ts';

const deployment = useDeployment();

test('processes close once a newer version has migrated the database in a way that they cannot share', async () => {
  const worker = await deployment.startWorker();
  const api = await deployment.startApi();
  await query(
    deployment.service.databaseUrl,
    `CREATE OR REPLACE FUNCTION data_format() RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT ${dataFormat + 1} $$`,
  );
  for (const process of [worker, api.process]) {
    await waitFor(`${process.name} to end`, () => process.unexpectedExits.length > 0);
    expect(process.output()).toContain('A newer version has migrated this database');
  }
});
