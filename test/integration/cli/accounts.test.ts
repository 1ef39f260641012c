import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { SecretUnreadableError } from '#shared/platform/secrets/secrets.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { paused } from '#test/support/processors/paused.ts';
import { auditOf } from '../../support/audit-log.ts';
import { adminCliOf, onlyLine } from '../../support/processes/admin-cli.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { openCredentials } from '../../support/processors/stored-credentials.ts';
import { expectNotInDatabase } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const admin = adminCliOf(service);
const inFolder = useTemporaryFolder();

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

  test('reads credentials from stdin or a file and stores them encrypted', async () => {
    const before = await stripeAccount('test');
    const set = ['account', 'set', ...accountOf('test', 'stripe')];
    const apiBase = service.sandboxUrl;
    const fromStdin = await admin(set, JSON.stringify({ secretKey, apiBase }));
    expect(fromStdin.code, fromStdin.stderr).toBe(0);
    expect(onlyLine(fromStdin.stdout)).toBe(before.id);
    await expectNotInDatabase(service.databaseUrl, secretKey);

    const file = inFolder('stripe.json');
    await writeFile(file, JSON.stringify({ secretKey: `${secretKey}2`, apiBase }));
    expect((await admin([...set, '--credentials-file', file])).code).toBe(0);
    await expectNotInDatabase(service.databaseUrl, secretKey);
    const account = await stripeAccount('test');
    expect(openCredentials(service.deps.secrets, account).secretKey).toBe(`${secretKey}2`);

    const listed = await admin(['account', 'list', '--organization', service.organization.id, '--json']);
    expect(JSON.parse(listed.stdout)).toHaveLength(2 * processorNames.length);
    expect(listed.stdout).not.toMatch(/credentials/i);
    expect((await auditOf(service, before.id)).map(({ action }) => action)).toEqual(
      Array(3).fill('account.set'),
    );
  });

  test('stores credentials that the processor refuses only with --force, and says what is missing of others', async () => {
    const before = await stripeAccount('test');
    const set = (credentials: object, ...more: string[]) =>
      admin(['account', 'set', ...accountOf('test', 'stripe'), ...more], JSON.stringify(credentials));
    const wrong = { secretKey: 'sk_test_invalid', apiBase: service.sandboxUrl };
    const refused = await set(wrong);
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringMatching(/^refund +refused /m) });
    expect(onlyLine(refused.stderr)).toBe(
      'Nothing was stored. Correct the credentials, or store these with --force.',
    );
    expect(await stripeAccount('test')).toEqual(before);
    expect(await set(wrong, '--force')).toMatchObject({
      code: 0,
      stdout: `${before.id}\n`,
      stderr: expect.stringContaining('Warning: Stripe refuses the credentials: Invalid API Key'),
    });
    const unreachable = await set({ ...wrong, apiBase: 'http://127.0.0.1:1' });
    expect(unreachable.code).toBe(0);
    expect(unreachable.stderr).toContain('Warning: Stripe did not say whether it permits refunds');
    const secretKey = 'rk_test_without_refund_write';
    const limited = await set({ ...wrong, secretKey, webhookSecret: 'whsec_x' });
    expect(limited).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Warning: refund is refused: rak_refund_write'),
    });
    const { stdout } = await admin(['account', 'list', '--organization', service.organization.id]);
    expect(stdout).toMatch(/stripe .* readPayments, disputes, list +refund, cancel +20\d\d-/);
    const attention = await admin(['refund', 'attention']);
    expect(attention.stdout).toMatch(/^acc_\S+ .* refund, cancel +20\S+ +account check --organization/m);
  });

  test('sets how many calls per second an account gets, and lists that with what is limited', async () => {
    const { id } = await stripeAccount('test');
    const rate = (callsPerSecond: string) =>
      admin(['account', 'rate', ...accountOf('test', 'stripe'), '--calls-per-second', callsPerSecond]);
    expect((await rate('80')).code).toBe(0);
    const rateLimits = paused(new Date(Date.now() + 60_000), 'createRefund');
    await service.deps.db.processorAccount.update({ where: { id }, data: { rateLimits } });
    const { stdout } = await admin(['account', 'list', '--organization', service.organization.id]);
    expect(stdout).toMatch(new RegExp(`^${id} .* 80 .*createRefund until 20`, 'm'));
    expect((await rate('default')).code).toBe(0);
    expect((await stripeAccount('test')).callsPerSecond).toBeNull();
    expect((await rate('many')).stderr).toContain('Give a number from 0 to 999999, or default.');
    expect((await auditOf(service, id)).at(-1)).toMatchObject({
      ...{ action: 'account.rate_set', detail: { from: 80, to: null } },
    });
  });

  test('rejects credentials that are not JSON without repeating them', async () => {
    const number = '12345678901234567890123';
    for (const input of [`{"secretKey": ${secretKey}}`, secretKey, `{"secretKey": ${number}}`, '']) {
      const refused = await admin(['account', 'set', ...accountOf('test', 'stripe')], input);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(onlyLine(refused.stderr)).toMatch(
        /^The credentials from stdin (are empty|cannot be used: (not valid JSON|a number in it cannot be stored exactly))\.$/,
      );
      expect(refused.stderr).not.toContain(number);
    }
  });

  test('cannot decrypt credentials that were copied to another row', async () => {
    const { db, connections } = service.deps;
    const other = await service.addOrganization('Other');
    const own = await stripeAccount('test');
    const { encryptedCredentials, encryptionKeyId } = own;
    const copied = { encryptedCredentials, encryptionKeyId };
    const elsewhere = {
      processor: 'stripe',
      OR: [{ organizationId: other.id }, { id: (await stripeAccount('live')).id }],
    };
    await db.processorAccount.updateMany({ where: elsewhere, data: { ...copied, updatedAt: new Date() } });
    const victims = await db.processorAccount.findMany({ where: elsewhere });
    expect(victims).toHaveLength(3);
    for (const victim of victims)
      await expect(connections.connect(victim)).rejects.toThrow(SecretUnreadableError);
    await expect(connections.connect(own)).resolves.toBeDefined();
  });

  test('changes the update time even within the same millisecond', async () => {
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
