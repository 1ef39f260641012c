import { describe, expect, inject, test } from 'vitest';
import { readMigrations } from '#prisma/migrations-folder.ts';
import { settingNames } from '#shared/platform/config.ts';
import { startProcess } from '../support/processes/child-process.ts';
import { compiledIn } from '../support/processes/compiled-service.ts';
import { useDatabase, useEmptyDatabase } from '../support/stores/database.ts';
import { asService } from '../support/stores/service-role.ts';

/** Runs a compiled program with these settings alone, whatever this machine has set. */
async function run(entry: string, env: Record<string, string>) {
  const unset = Object.fromEntries(settingNames.map((name) => [name, undefined]));
  const child = startProcess(compiledIn(inject('compiledFolder')).entry(entry), {
    env: { ...unset, ...env },
  });
  const { code } = await child.exited;
  return { code, output: child.output() };
}

describe('a program in production whose settings are invalid', () => {
  const DATABASE_URL = 'postgresql://someone:hidden-password@127.0.0.1:5432/refunds';
  const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');

  test.each([
    ['worker/main.js', { DATABASE_URL, ENCRYPTION_KEY: 'hidden-key' }, /^ENCRYPTION_KEY must be .+\n$/],
    ['api/main.js', { DATABASE_URL, ENCRYPTION_KEY }, /^TRUSTED_PROXIES is required: .+, or none\n$/],
  ])('ends with one line, and without a secret in it: %s', async (entry, env, message) => {
    const { code, output } = await run(entry, { NODE_ENV: 'production', ...env });
    expect(output).toMatch(message);
    expect(output).not.toMatch(/hidden|redacted/);
    expect(code).toBe(1);
  });
});

describe('the program that migrates', () => {
  const url = useDatabase();
  const emptyUrl = useEmptyDatabase();
  const migrate = (env: Record<string, string>) => run('prisma/migrate-main.js', env);

  test('with the role of the service says which setting is missing', async () => {
    const { code, output } = await migrate({ DATABASE_URL: asService(url()) });
    expect(code).toBe(1);
    expect(output.trim()).toBe(
      'The role "refunds_service" does not own the tables of this database. Set DATABASE_OWNER_URL to the URL of their owner.',
    );
  });

  test('succeeds in two processes at the same time, and every migration is applied once', async () => {
    const runs = await Promise.all([1, 2].map(() => migrate({ DATABASE_URL: emptyUrl() })));
    expect(runs.map(({ code }) => code)).toEqual([0, 0]);
    const outputs = runs.map(({ output }) => output);
    for (const { name } of readMigrations()) {
      expect(outputs.filter((output) => output.includes(`Applied ${name}`))).toHaveLength(1);
    }
    expect(outputs.filter((output) => output.includes('The database is up to date.'))).toHaveLength(1);
  });
});
