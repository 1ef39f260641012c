import { describe, expect, test } from 'vitest';
import { findApiKey } from '#shared/organizations/find-api-key.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { createEndpoint } from '#shared/webhooks/manage-endpoints.ts';
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
    await expectNotInDatabase(service.databaseUrl, plaintext);
    await expectNotInDatabase(service.databaseUrl, plaintext.slice('svc_live_'.length));

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
  });

  test('revokes a key, says which keys it created, and revokes these as well if asked to', async () => {
    const { id: organizationId } = service.organization;
    const newKey = (actor: string) => service.newKey({ actor, scopes: ['keys:manage'] });
    const manager = await newKey('cli:root');
    const created = await newKey(`key:${manager.id}`);
    const last = await newKey(`key:${created.id}`);
    const endpoint = await createEndpoint(service.deps, {
      ...{ organizationId, environment: 'test', actor: `key:${created.id}` },
      ...{ url: 'https://example.com/hooks', events: ['*'], description: null },
    });
    const place = `webhook endpoint ${endpoint.endpoint.id} at example.com.`;
    const alone = await admin(['key', 'revoke', manager.id]);
    expect(alone.stderr).toContain(`Not revoked: 2 API keys that ${manager.id} created.`);
    expect(alone.stderr).toContain(`key revoke ${last.id}`);
    expect(alone.stderr).toContain(`Still sent events: ${place}`);
    expect(await findApiKey(service.deps.apiKeys, last.plaintext)).not.toBeNull();
    const all = await admin(['key', 'revoke', manager.id, '--with-created']);
    expect(all.stderr).toContain('Revoked 2 API keys created with it.');
    expect(all.stderr).toContain(`Disabled: ${place}`);
    for (const { id, plaintext } of [created, last]) {
      expect(await findApiKey(service.deps.apiKeys, plaintext)).toBeNull();
      expect((await auditOf(service, id)).at(-1)).toMatchObject({ action: 'key.revoked' });
    }
  });

  test('creates a key with a name, scopes, an expiry and limits, and lists, stops and resumes it', async () => {
    const { id: organization } = service.organization;
    const made = await admin([
      ...['key', 'create', '--organization', organization, '--environment', 'test'],
      ...['--name', 'Support agent'],
      ...['--scope', 'refunds:write', '--scope', 'refunds:read', '--expires-in-days', '30'],
      ...['--agent-currency', 'USD', '--max-per-refund', '5000', '--max-per-payment', '8000'],
      ...['--max-per-day', '50000', '--allow-reason', 'other', 'wrong_product', '--approval-above', '0'],
    ]);
    expect(made.code, made.stderr).toBe(0);
    const plaintext = onlyLine(made.stdout);
    const keyId = /key_[a-z0-9]+/.exec(made.stderr)?.[0] ?? '';
    const { stdout } = await admin(['key', 'list', '--organization', organization, '--json']);
    const listed = JSON.parse(stdout).find(({ id }: { id: string }) => id === keyId);
    expect(listed).toMatchObject({
      name: 'Support agent',
      scopes: ['refunds:read', 'refunds:write'],
      agentLimits: {
        currency: 'usd',
        maxPerRefund: 5_000,
        maxPerPayment: 8_000,
        maxPerDay: 50_000,
        reasons: ['other', 'wrong_product'],
        approvalAbove: 0,
      },
      stoppedAt: null,
    });
    expect(Math.round((Date.parse(listed.expiresAt) - Date.now()) / 86_400_000)).toBe(30);

    expect((await admin(['key', 'stop', keyId])).code).toBe(0);
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(403);
    const table = await admin(['key', 'list', '--organization', organization]);
    expect(table.stdout).toMatch(
      /Support agent +svc_test_\.{3}\w{4} +stopped +refunds:read,refunds:write +\{.*"currency":"usd"/,
    );
    expect((await admin(['key', 'resume', keyId])).code).toBe(0);
    expect((await service.call('GET', '/v1/refunds', { key: plaintext })).status).toBe(200);
    const acts = (await auditOf(service, keyId)).map(({ action }) => action);
    expect(acts).toEqual(['key.created', 'key.stopped', 'key.resumed']);
  });

  test.each([
    [['--scope', 'refunds:all'], 2, /Allowed choices are refunds:read/],
    [['--expires-in-days', '0'], 2, /Give a whole number of days, 1 to 3650/],
    [['--max-per-refund', '10.50'], 2, /It must be a whole number of minor units, 1 or more/],
    [['--max-per-refund', '100'], 1, /^--agent-currency: name the currency of the limits/],
    [['--agent-currency', 'usd', '--scope', 'refunds:approve'], 1, /^scopes: an agent key may have/],
  ])('creates no key with %j', async (options, code, message) => {
    const { id: organization } = service.organization;
    const count = await service.deps.db.apiKey.count();
    const create = ['key', 'create', '--organization', organization, '--environment', 'test'];
    const refused = await admin([...create, ...options]);
    expect(refused).toMatchObject({ code, stdout: '' });
    expect(refused.stderr).toMatch(message);
    expect(await service.deps.db.apiKey.count()).toBe(count);
  });
});

describe('policies', () => {
  const setFrom = (input: string) =>
    admin(['policy', 'set', '--organization', service.organization.id, '--file', '-'], input);

  test('shows the 30-day policy of a new organization, and sets the edited output', async () => {
    const show = ['policy', 'show', '--organization', service.organization.id, '--json'];
    const { stdout } = await admin(show);
    expect(JSON.parse(stdout)).toMatchObject({
      policies: [{ name: 'Default 30-day policy', windowDays: 30 }],
    });
    const edited = stdout.replace('"windowDays": 30', '"windowDays": 45');
    expect((await setFrom(edited)).code).toBe(0);
    expect((await admin(show)).stdout).toBe(edited);
    const last = (await auditOf(service, service.organization.id)).at(-1);
    expect(last).toMatchObject({ action: 'policies.set', detail: JSON.parse(edited) });
  });

  test('rejects a bad policy file in one line, also for a repeated field', async () => {
    const bad = await setFrom('{"policies": [{"name": "A", "priority": 1, "windowDays": 0}]}');
    expect(bad).toMatchObject({ code: 1, stdout: '' });
    expect(onlyLine(bad.stderr)).toMatch(/^policies\.0\.windowDays: must be/);
    const twice = await setFrom('{"policies": [{"name": "A", "maxPercent": 5, "maxPercent": 50}]}');
    expect(onlyLine(twice.stderr)).toMatch(/occurs twice/);
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
    expect(onlyLine(unreachable.stderr)).toMatch(/^The database cannot be used\. Nothing answers/);
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
});
