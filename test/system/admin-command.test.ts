import { execFile } from 'node:child_process';
import { copyFileSync, symlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { findApiKey } from '#shared/organizations/find-api-key.ts';
import { newId } from '#shared/platform/ids.ts';
import { adminProcess, cliSettings, onlyLine } from '../support/processes/admin-cli.ts';
import { useTemporaryFolder } from '../support/processes/temporary-folder.ts';
import { expectNotInDatabase } from '../support/stores/database-content.ts';
import { useService } from '../support/use-service.ts';

// As an operator runs it: compiled, one process for each command.
const service = useService({ workers: 0 });
const admin = (args: readonly string[], input?: string) => adminProcess(cliSettings(service))(args, input);
const inFolder = useTemporaryFolder();

test('creates an organization and an API key, prints each on a line of its own, and stores no key', async () => {
  const created = await admin(['organization', 'create', '--name', 'Acme Inc']);
  expect(created.code, created.stderr).toBe(0);
  const organization = onlyLine(created.stdout);
  const made = await admin(['key', 'create', '--organization', organization, '--environment', 'live']);
  expect(made.code, made.stderr).toBe(0);
  const plaintext = onlyLine(made.stdout);
  expect(made.stderr).not.toContain(plaintext);
  expect(await findApiKey(service.deps.apiKeys, plaintext)).toMatchObject({ organizationId: organization });
  await expectNotInDatabase(service.databaseUrl, plaintext);
});

test('reads credentials from stdin', async () => {
  const secretKey = 'sk_test_51NoSuchSecretAnywhere';
  const set = await admin(
    [
      ...['account', 'set', '--organization', service.organization.id],
      ...['--environment', 'test', '--processor', 'stripe'],
    ],
    JSON.stringify({ secretKey, apiBase: service.sandboxUrl }),
  );
  expect(set.code, set.stderr).toBe(0);
  expect(onlyLine(set.stdout)).toMatch(/^acc_/);
  await expectNotInDatabase(service.databaseUrl, secretKey);
});

test('writes all of a long list to a pipe', async () => {
  const { id: organizationId } = await service.addOrganization('Piped');
  const entry = { organizationId, actor: 'test', action: 'key.created', target: 'key_1', detail: {} };
  const createdAt = new Date('2026-01-05T10:00:00Z');
  const data = Array.from({ length: 2_500 }, () => ({ ...entry, id: newId('aud'), createdAt }));
  await service.deps.db.auditLog.createMany({ data });
  const listed = await admin([
    ...['audit', 'export', '--organization', organizationId, '--until', '2026-02-01'],
  ]);
  expect(listed.code).toBe(0);
  expect(listed.stdout.split('\n')).toHaveLength(2_501);
});

test('is what npm run admin runs in production, without development packages', async () => {
  copyFileSync('package.json', inFolder('package.json'));
  symlinkSync(inject('compiledFolder'), inFolder('dist'));
  const env = { ...process.env, NODE_ENV: 'production' };
  const command = ['run', '-s', 'admin', '--', 'key', 'create', '--name', 'Two words', '--help'];
  const { stdout } = await promisify(execFile)('npm', command, { cwd: inFolder('.'), env });
  expect(stdout).toContain('create an API key and print it once');
});
