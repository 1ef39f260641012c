import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { adminCli, adminCliOf } from '../../support/processes/admin-cli.ts';
import { startRedis } from '../../support/stores/redis.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService();
const admin = adminCliOf(service);
beforeAll(() => waitFor('a worker', () => service.deps.db.worker.count()));

interface Finding {
  state: string;
  subject: string;
  words: string;
}

async function examine(settings: Record<string, string> = {}) {
  const { DATABASE_URL, ENCRYPTION_KEY } = service.deps.settings;
  const { code, stdout } = await adminCli({ DATABASE_URL, ENCRYPTION_KEY, ...settings })([
    'doctor',
    '--json',
  ]);
  const findings: Finding[] = JSON.parse(stdout);
  return {
    code,
    of: (subject: string) => findings.filter((each) => each.subject.startsWith(subject)),
    findings,
  };
}

test('says of everything what is right, and of what is wrong what to do', async () => {
  const { code, of, findings } = await examine({
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'a@example.com',
    PUBLIC_URL: 'https://refunds.test',
  });
  expect(of('PostgreSQL').map(({ state }) => state)).not.toContain('wrong');
  expect(of('clock')).toMatchObject([{ state: 'right' }]);
  expect(of('PUBLIC_URL')).toMatchObject([{ state: 'right', words: 'https://refunds.test' }]);
  expect(of('workers')).toEqual([{ state: 'right', subject: 'workers', words: '1 run.' }]);
  expect(of('mail')).toMatchObject([{ state: 'wrong', words: expect.stringContaining('Nothing answers') }]);
  expect(of('account stripe, test')[0]).toMatchObject({ state: 'right' });
  expect(code).toBe(1);
  expect((await admin(['doctor'])).stdout.split('\n')).toHaveLength(findings.length + 2);
});

test('says what the processor refuses of an account, and where webhooks belong', async () => {
  await setProcessorAccount(service.deps, {
    ...{ organizationId: service.organization.id, environment: 'test', processor: 'stripe', actor: 'test' },
    credentials: { secretKey: 'sk_test_invalid', apiBase: service.sandboxUrl, webhookSecret: 'whsec_x' },
  });
  const { of } = await examine({ PUBLIC_URL: 'https://refunds.test' });
  const found = of('account stripe, test');
  expect(found[0]).toMatchObject({
    state: 'wrong',
    words: expect.stringContaining('refuses the credentials'),
  });
  expect(found.at(-1)?.words).toMatch(/send them to https:\/\/refunds\.test\/webhooks\/stripe\/acc_/);
});

test('says why PostgreSQL refuses, and checks nothing that needs it', async () => {
  const url = new URL(service.deps.settings.DATABASE_URL);
  url.pathname = '/missing';
  const { code, of } = await examine({ DATABASE_URL: url.href });
  expect(of('PostgreSQL')).toMatchObject([
    { state: 'wrong', words: expect.stringContaining('does not exist') },
  ]);
  expect(of('workers')).toEqual([]);
  expect(code).toBe(1);
});

test.skipIf(inject('redisUrl') === null)('says what Redis is, and what is wrong with it', async () => {
  const redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru', '--maxmemory', '100mb'] });
  onTestFinished(async () => void (await redis.stop()));
  // Polled, because a Redis that does not answer within two seconds is down.
  const ofRedis = async (url: string) => (await examine({ REDIS_URL: url })).of('Redis');
  await expect
    .poll(() => ofRedis(redis.url))
    .toMatchObject([
      { state: 'warning', words: expect.stringContaining('noeviction') },
      { state: 'right', words: expect.stringMatching(/version \d.*MiB of 100 MiB/) },
    ]);
  const wrong = redis.url.replace('redis://', 'redis://app:wrong@');
  await expect
    .poll(() => ofRedis(wrong))
    .toMatchObject([{ state: 'wrong', words: expect.stringContaining('password') }]);
});
