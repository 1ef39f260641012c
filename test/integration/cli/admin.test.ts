import { describe, expect, test } from 'vitest';
import { findApiKey } from '../../../shared/organizations/api-keys.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { auditOf } from '../../support/audit-log.ts';
import { adminCli, adminCliOf, onlyLine } from '../../support/processes/admin-cli.ts';
import { useEmptyDatabase } from '../../support/stores/database.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

const emptyDatabaseUrl = useEmptyDatabase();
const service = useService({ workers: 0 });
const admin = adminCliOf(service);

describe('organizations and keys', () => {
  test('creates an organization and an API key that works until it is revoked', async () => {
    const created = await admin(['organization', 'create', '--name', 'Acme Inc']);
    expect(created.code, created.stderr).toBe(0);
    const organization = onlyLine(created.stdout);
    expect(organization).toMatch(/^org_[a-z0-9]{26}$/);

    const made = await admin(['key', 'create', '--organization', organization, '--environment', 'live']);
    expect(made.code, made.stderr).toBe(0);
    const plaintext = onlyLine(made.stdout);
    expect(plaintext).toMatch(/^svc_live_[A-Za-z0-9]{32}$/);
    expect(made.stderr).not.toContain(plaintext);
    const key = await findApiKey(service.deps.apiKeys, plaintext);
    expect(key).toMatchObject({ organizationId: organization, environment: 'live' });
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(200);
    await expectNotInDatabase(service.settings.DATABASE_URL, plaintext);
    await expectNotInDatabase(service.settings.DATABASE_URL, plaintext.slice('svc_live_'.length));

    const keyId = key?.id ?? '';
    const listed = await admin(['key', 'list', '--organization', organization, '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: keyId, revokedAt: null }]);
    expect(listed.stdout).not.toContain('hash');

    expect((await admin(['key', 'revoke', keyId])).code).toBe(0);
    expect(await findApiKey(service.deps.apiKeys, plaintext)).toBeNull();
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(401);
    const again = await admin(['key', 'revoke', keyId]);
    expect(again).toMatchObject({ code: 0, stderr: `${keyId} was already revoked.\n` });

    const acts = await auditOf(service, keyId);
    expect(acts.map(({ action }) => action)).toEqual(['key.created', 'key.revoked']);
    for (const { actor } of acts) expect(actor).toMatch(/^cli:./);
    expect((await auditOf(service, organization)).map(({ action }) => action)).toEqual([
      'organization.created',
    ]);
  });

  test('gives a new organization the 30-day policy', async () => {
    const shown = await admin(['policy', 'show', '--organization', service.organization.id, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      policies: [{ name: 'Default 30-day policy', windowDays: 30 }],
    });
  });
});

describe('policies', () => {
  const setFrom = (input: string) =>
    admin(['policy', 'set', '--organization', service.organization.id, '--file', '-'], input);

  test('sets the edited output of show --json', async () => {
    const show = ['policy', 'show', '--organization', service.organization.id, '--json'];
    const { stdout } = await admin(show);
    const edited = stdout.replace('"windowDays": 30', '"windowDays": 45');
    expect((await setFrom(edited)).code).toBe(0);
    expect((await admin(show)).stdout).toBe(edited);
    expect(await auditOf(service, service.organization.id)).toMatchObject([
      { action: 'organization.created' },
      { action: 'policies.set', detail: JSON.parse(edited) },
    ]);
  });

  test('rejects a bad policy file in one line, also for a repeated field', async () => {
    const bad = await setFrom('{"policies": [{"name": "A", "priority": 1, "windowDays": 0}]}');
    expect(bad).toMatchObject({ code: 1, stdout: '' });
    expect(onlyLine(bad.stderr)).toMatch(/^policies\.0\.windowDays: must be/);
    const twice = await setFrom('{"policies": [{"name": "A", "maxPercent": 5, "maxPercent": 50}]}');
    expect(onlyLine(twice.stderr)).toMatch(/occurs twice/);
  });

  test('rejects an unknown field with its place in the file and changes nothing', async () => {
    const before = await service.deps.db.policy.findMany();
    const refused = await setFrom('{"policies": [{"name": "A", "priority": 1, "widnow": 1}]}');
    expect(onlyLine(refused.stderr)).toMatch(/^policies\.0\.widnow: /);
    expect(await service.deps.db.policy.findMany()).toEqual(before);
  });

  test('keeps the policies of one file when several are set concurrently', async () => {
    const { id: organizationId } = service.organization;
    const files = ['A', 'B', 'C'].map((name) => ({
      policies: [1, 2].map((n) => ({ name: `${name}${n}`, priority: n })),
    }));
    await Promise.all(
      files.map((file) => setPolicies(service.deps, { organizationId, file, actor: 'test' })),
    );
    const names = (await service.deps.db.policy.findMany({ where: { organizationId } })).map(
      ({ name }) => name,
    );
    expect(['A1,A2', 'B1,B2', 'C1,C2']).toContain(names.sort().join());
  });
});

describe('errors are reported in one line with exit code 1', () => {
  test('for unknown ids', async () => {
    const commands = [
      ['key', 'create', '--organization', 'org_missing', '--environment', 'test'],
      ['key', 'revoke', 'key_missing'],
      ['policy', 'show', '--organization', 'org_missing'],
      ['refund', 'show', 'ref_missing'],
      ['refund', 'approve', 'ref_missing'],
    ];
    const results = await Promise.all(commands.map((command) => admin(command)));
    for (const result of results) {
      expect(result).toMatchObject({ code: 1, stdout: '' });
      expect(onlyLine(result.stderr)).toMatch(/^(Organization|API key|Refund) not found: \w+_missing$/);
    }
  });

  test('for an unreachable or empty database and a missing setting', async () => {
    const { ENCRYPTION_KEY } = service.settings;
    const gone = adminCli({ DATABASE_URL: 'postgresql://u:hidden@127.0.0.1:1/x', ENCRYPTION_KEY });
    const unreachable = await gone(['organization', 'list']);
    expect(unreachable).toMatchObject({ code: 1, stdout: '' });
    expect(onlyLine(unreachable.stderr)).toMatch(/^The database cannot be reached/);
    expect(unreachable.stderr).not.toContain('hidden');
    const empty = await adminCli({ DATABASE_URL: emptyDatabaseUrl(), ENCRYPTION_KEY })([
      'organization',
      'list',
    ]);
    expect(empty.code).toBe(1);
    expect(onlyLine(empty.stderr)).toContain('npm run db:migrate');
    const unset = await adminCli({ DATABASE_URL: undefined, ENCRYPTION_KEY })(['organization', 'list']);
    expect(unset.code).toBe(1);
    expect(onlyLine(unset.stderr)).toMatch(
      /^DATABASE_URL is required: .* postgresql:\/\/<user>:<password>@host:5432\/refunds$/,
    );
  });

  test('exits with 2 for an invalid option', async () => {
    expect((await admin(['key', 'create', '--organization', 'x', '--environment', 'prod'])).code).toBe(2);
  });
});
