import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { credentialContext } from '../../shared/accounts/connect.ts';
import { findApiKey } from '../../shared/organizations/api-keys.ts';
import { setProcessorAccount } from '../../shared/organizations/processor-accounts.ts';
import { SecretUnreadableError } from '../../shared/secrets.ts';
import { type AdminCli, adminCli, onlyLine } from '../harness/admin-cli.ts';
import { useDatabase } from '../harness/database.ts';
import { startService, type TestService } from '../harness/service.ts';

const databaseUrl = useDatabase();
let service: TestService;
let admin: AdminCli;
let folder: string;

beforeAll(async () => {
  const backend = { name: 'postgres', redisUrl: null } as const;
  service = await startService({ databaseUrl: databaseUrl(), backend, workers: 0 });
  const { ENCRYPTION_KEY, QUEUE_PREFIX } = service.settings;
  admin = adminCli({ DATABASE_URL: databaseUrl(), ENCRYPTION_KEY, QUEUE_PREFIX });
  folder = await mkdtemp(join(tmpdir(), 'admin-'));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

/** Every row of every table as text; bytes are hexadecimal. */
async function wholeDatabase(): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl() });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      texts.push(...rows.map(({ row }) => row));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

async function expectNotInDatabase(secret: string): Promise<void> {
  const content = await wholeDatabase();
  expect(content).toContain(service.organization.id);
  for (const encoding of ['utf8', 'hex', 'base64'] as const) {
    expect(content.includes(Buffer.from(secret).toString(encoding)), encoding).toBe(false);
  }
}

async function auditOf(target: string) {
  const { db } = service.deps;
  return await db.auditLog.findMany({ where: { target }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] });
}

describe('organizations and keys', () => {
  test('from nothing to a working key in two commands, and to a dead key in a third', async () => {
    const created = await admin(['organization', 'create', '--name', 'Acme Inc']);
    expect(created.code, created.stderr).toBe(0);
    const organization = onlyLine(created.stdout);
    expect(organization).toMatch(/^org_[a-z0-9]{26}$/);

    const made = await admin(['key', 'create', '--organization', organization, '--environment', 'live']);
    expect(made.code, made.stderr).toBe(0);
    const plaintext = onlyLine(made.stdout);
    expect(plaintext).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
    expect(made.stderr).not.toContain(plaintext);
    const key = await findApiKey(service.deps.db, plaintext);
    expect(key).toMatchObject({ organizationId: organization, environment: 'live' });
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(200);
    await expectNotInDatabase(plaintext);
    await expectNotInDatabase(plaintext.slice('svc_live_'.length));

    const keyId = key?.id ?? '';
    const listed = await admin(['key', 'list', '--organization', organization, '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: keyId, revokedAt: null }]);
    expect(listed.stdout).not.toContain('hash');

    expect((await admin(['key', 'revoke', keyId])).code).toBe(0);
    expect(await findApiKey(service.deps.db, plaintext)).toBeNull();
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(401);
    const again = await admin(['key', 'revoke', keyId]);
    expect(again).toMatchObject({ code: 0, stderr: `${keyId} was revoked before.\n` });

    const acts = await auditOf(keyId);
    expect(acts.map(({ action }) => action)).toEqual(['key.created', 'key.revoked']);
    for (const { actor } of acts) expect(actor).toMatch(/^cli:./);
    expect((await auditOf(organization)).map(({ action }) => action)).toEqual(['organization.created']);
  });

  test('a new organization starts with the 30-day policy', async () => {
    const shown = await admin(['policy', 'show', '--organization', service.organization.id, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      policies: [{ name: 'Default 30-day policy', windowDays: 30 }],
    });
  });
});

describe('processor accounts', () => {
  const secretKey = 'sk_test_51NoSuchSecretAnywhere';
  const accountOf = (environment: string, processor: string) => [
    ...['--organization', service.organization.id],
    ...['--environment', environment, '--processor', processor],
  ];
  const stripeAccount = (environment: 'live' | 'test') =>
    service.deps.db.processorAccount.findFirstOrThrow({
      where: { organizationId: service.organization.id, environment, processor: 'stripe' },
    });

  test('credentials come from stdin or a file, and cannot be read in the database', async () => {
    const before = await stripeAccount('test');
    const set = ['account', 'set', ...accountOf('test', 'stripe')];
    const fromStdin = await admin(set, JSON.stringify({ secretKey }));
    expect(fromStdin.code, fromStdin.stderr).toBe(0);
    expect(onlyLine(fromStdin.stdout)).toBe(before.id);
    await expectNotInDatabase(secretKey);

    const file = join(folder, 'stripe.json');
    await writeFile(file, JSON.stringify({ secretKey: `${secretKey}2` }));
    expect((await admin([...set, '--credentials-file', file])).code).toBe(0);
    await expectNotInDatabase(secretKey);
    const account = await stripeAccount('test');
    const sealed = { keyId: account.encryptionKeyId, bytes: account.encryptedCredentials };
    expect(service.deps.secrets.open(sealed, credentialContext(account))).toContain(`${secretKey}2`);

    const listed = await admin(['account', 'list', '--organization', service.organization.id, '--json']);
    expect(JSON.parse(listed.stdout)).toHaveLength(4);
    expect(listed.stdout).not.toMatch(/credentials/i);
    expect((await auditOf(before.id)).map(({ action }) => action)).toEqual(Array(3).fill('account.set'));
  });

  test('a live secret key is refused for the test environment, in one line that does not repeat it', async () => {
    const live = JSON.stringify({ secretKey: 'sk_live_51NoSuchSecretAnywhere' });
    const refused = await admin(['account', 'set', ...accountOf('test', 'stripe')], live);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(onlyLine(refused.stderr)).toMatch(/^secretKey: the test environment takes keys that start with/);
    expect(refused.stderr).not.toContain('NoSuchSecret');
  });

  test('credentials that are not JSON are refused without a word of them', async () => {
    for (const input of [`{"secretKey": ${secretKey}}`, secretKey, '']) {
      const refused = await admin(['account', 'set', ...accountOf('test', 'stripe')], input);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(onlyLine(refused.stderr)).toMatch(/^The credentials from stdin are (not valid JSON|empty)\.$/);
    }
  });

  test('credentials that were copied to another row cannot be opened', async () => {
    const { db, connections } = service.deps;
    const other = await service.addOrganization('Other');
    const { encryptedCredentials, encryptionKeyId, ...own } = await stripeAccount('test');
    const copied = { encryptedCredentials, encryptionKeyId };
    const elsewhere = {
      processor: 'stripe',
      OR: [{ organizationId: other.id }, { id: (await stripeAccount('live')).id }],
    };
    await db.processorAccount.updateMany({ where: elsewhere, data: { ...copied, updatedAt: new Date() } });
    const victims = await db.processorAccount.findMany({ where: elsewhere });
    expect(victims).toHaveLength(3);
    for (const victim of victims) expect(() => connections.connect(victim)).toThrow(SecretUnreadableError);
    expect(() => connections.connect({ ...own, ...copied })).not.toThrow();
  });

  test('new credentials are noticed even in the millisecond of the old ones', async () => {
    const stopped = { ...service.deps, clock: { now: () => new Date('2026-01-01T00:00:00Z') } };
    const { id: organizationId } = await service.addOrganization('Still');
    const request = { organizationId, environment: 'test', processor: 'stripe', actor: 'test' } as const;
    const updates: number[] = [];
    for (const ending of ['a', 'b', 'c']) {
      await setProcessorAccount(stopped, { ...request, credentials: { secretKey: `sk_test_${ending}` } });
      const account = await service.deps.db.processorAccount.findFirstOrThrow({
        where: { organizationId, environment: 'test', processor: 'stripe' },
      });
      updates.push(account.updatedAt.getTime());
    }
    expect(new Set(updates).size).toBe(3);
  });
});

describe('policies', () => {
  const setFrom = (input: unknown) =>
    admin(
      ['policy', 'set', '--organization', service.organization.id, '--file', '-'],
      typeof input === 'string' ? input : JSON.stringify(input),
    );

  test('what is shown as JSON can be edited and set again', async () => {
    const show = ['policy', 'show', '--organization', service.organization.id, '--json'];
    const { stdout } = await admin(show);
    const edited = stdout.replace('"windowDays": 30', '"windowDays": 45');
    expect((await setFrom(edited)).code).toBe(0);
    expect((await admin(show)).stdout).toBe(edited);
    expect(await auditOf(service.organization.id)).toMatchObject([
      { action: 'organization.created' },
      { action: 'policies.set', detail: JSON.parse(edited) },
    ]);
  });

  test.each([
    [{ policies: [{ name: 'A', priority: 1, windowDays: 0 }] }, /^policies\.0\.windowDays: must be/],
    [{ policies: [{ name: 'A', priority: 1, widnow: 1 }] }, /^policies\.0\.widnow: there is no such field/],
    [
      { policies: [{ name: 'A', priority: 1, match: { processors: ['strpe'] } }] },
      /^policies\.0\.match\.processors: unknown/,
    ],
    [{ policies: [] }, /^policies: must hold at least one/],
    ['{"policies": [{"name": "A", "priority": 1, "maxPercent": 5, "maxPercent": 50}]}', /stands twice/],
  ])('%j is refused, names the place and changes nothing', async (file, message) => {
    const before = await service.deps.db.policy.findMany();
    const refused = await setFrom(file);
    expect(refused.code).toBe(1);
    expect(onlyLine(refused.stderr)).toMatch(message);
    expect(await service.deps.db.policy.findMany()).toEqual(before);
  });
});

describe('what goes wrong is told in one line, with exit code 1 and without a stack', () => {
  test('ids that do not exist', async () => {
    const commands = [
      ['key', 'list', '--organization', 'org_missing'],
      ['key', 'create', '--organization', 'org_missing', '--environment', 'test'],
      ['key', 'revoke', 'key_missing'],
      ['policy', 'show', '--organization', 'org_missing'],
      ['refund', 'show', 'ref_missing'],
      ['refund', 'approve', 'ref_missing'],
      ['refund', 'reject', 'ref_missing', '--reason', 'x'],
    ];
    for (const command of commands) {
      const result = await admin(command);
      expect(result, command.join(' ')).toMatchObject({ code: 1, stdout: '' });
      expect(onlyLine(result.stderr)).toMatch(/^No such (organization|key|refund): \w+_missing$/);
    }
  }, 40_000);

  test('a database that is not there, a setting that is missing', async () => {
    const { ENCRYPTION_KEY } = service.settings;
    const gone = adminCli({ DATABASE_URL: 'postgresql://u:hidden@127.0.0.1:1/x', ENCRYPTION_KEY });
    const unreachable = await gone(['organization', 'list']);
    expect(unreachable).toMatchObject({ code: 1, stdout: '' });
    expect(onlyLine(unreachable.stderr)).toMatch(/^The database cannot be reached/);
    expect(unreachable.stderr).not.toContain('hidden');
    const unset = await adminCli({ DATABASE_URL: undefined, ENCRYPTION_KEY })(['organization', 'list']);
    expect(unset.code).toBe(1);
    expect(onlyLine(unset.stderr)).toMatch(/^DATABASE_URL is required/);
  });

  test('a command that cannot be understood ends with 2', async () => {
    expect((await admin(['key', 'create', '--organization', 'x', '--environment', 'prod'])).code).toBe(2);
  });
});
