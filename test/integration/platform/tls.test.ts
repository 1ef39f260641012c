import { afterEach, expect, inject, test, vi } from 'vitest';
import { loadServiceSettings } from '#shared/platform/config.ts';
import { openDatabase } from '#shared/platform/database.ts';
import { openRedis } from '#shared/platform/redis.ts';
import { redisTroubleOf } from '#shared/platform/redis-trouble.ts';
import { openMailer } from '#worker/notify/mail.ts';
import { type MailServer, startMailServer } from '../../sandbox/mail-server.ts';
import { startTlsFront } from '../../support/http/tls-front.ts';
import { madeBeforeTests } from '../../support/made-before-tests.ts';
import { connect, options, processorVariants } from '../../support/processors/processor-variants.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { useDatabase } from '../../support/stores/database.ts';

const databaseUrl = useDatabase();
const redisUrl = inject('redisUrl');
const { sandbox, control } = useSandbox();
const mail: MailServer = madeBeforeTests(
  'The mail server',
  () => startMailServer(),
  (server) => server.close(),
);
afterEach(() => vi.restoreAllMocks());

/** Everything that the service calls, with its port and a call by the name of a host that reaches it. */
const peers: [name: string, port: () => number, call: (host: string) => Promise<unknown>][] = [
  ['PostgreSQL', () => portOf(databaseUrl()), askPostgres],
  ...(redisUrl === null
    ? []
    : ([
        ['Redis', () => portOf(redisUrl), askRedis],
        ['a node of a Redis Cluster', () => portOf(redisUrl), askRedisCluster],
      ] satisfies typeof peers)),
  ['the mail server', () => portOf(mail.url), (host) => sendMail(`smtps://${host}`)],
  ...processorVariants.map(
    (variant) =>
      [
        `the processor as ${variant.title}`,
        () => portOf(sandbox.url),
        async (host) => {
          const transactionId = await control.transaction({
            processor: variant.name,
            amount: 5_000,
            currency: 'usd',
          });
          const processor = connect(variant.name, variant.credentials, `https://${host}`);
          const answer = await processor.getPayment(transactionId, options);
          if (answer.kind !== 'found') throw new Error(answer.kind);
        },
      ] satisfies (typeof peers)[number],
  ),
];

test.each(peers)(
  '%s is trusted over TLS with a certificate for its name by an authority that is trusted alone',
  async (name, port, call) => {
    const front = await startTlsFront(port(), { protocol: name === 'PostgreSQL' ? 'postgres' : 'any' });
    await call(`localhost:${front.port}`);
    expect(front.names.length).toBeGreaterThan(0);
    await expect(call(`127.0.0.1:${front.port}`), 'another name').rejects.toThrow();
    vi.restoreAllMocks();
    await expect(call(`localhost:${front.port}`), 'an unknown authority').rejects.toThrow();
  },
);

test('a PostgreSQL that offers no TLS gets no statement where it is required', async () => {
  await expect(askPostgres(new URL(databaseUrl()).host)).rejects.toThrow('does not support SSL');
});

test('a mail server that offers no TLS gets no mail where it is required', async () => {
  const before = mail.mails.length;
  await expect(sendMail(`smtp://${new URL(mail.url).host}?requireTLS=true`)).rejects.toThrow('STARTTLS');
  expect(mail.mails).toHaveLength(before);
});

const portOf = (url: string) => Number(new URL(url).port);

async function askPostgres(host: string): Promise<void> {
  const url = new URL(databaseUrl());
  url.host = host;
  url.searchParams.set('sslmode', 'verify-full');
  const db = openDatabase(url.href, { poolSize: 1 });
  await db.$queryRaw`SELECT 1`.finally(() => db.$disconnect());
}

async function askRedis(host: string): Promise<void> {
  const redis = openRedis(
    { REDIS_URL: `rediss://${host}`, REDIS_SENTINELS: null },
    { maxRetriesPerRequest: 0, retryStrategy: () => null },
  );
  redis.on('error', () => {});
  await redis.ping().finally(() => redis.disconnect());
}

/** The server is no cluster, which it says only to a client that has trusted it. */
async function askRedisCluster(host: string): Promise<void> {
  const cluster = openRedis(
    { REDIS_URL: `rediss://${host},rediss://${host}`, REDIS_SENTINELS: null },
    { retryStrategy: () => null },
  );
  await new Promise<void>((resolve, reject) => {
    cluster.on('error', (error) =>
      redisTroubleOf(error)?.includes('no Redis Cluster') ? resolve() : reject(error),
    );
  }).finally(() => cluster.disconnect());
}

async function sendMail(url: string): Promise<void> {
  const settings = loadServiceSettings({
    ...{ DATABASE_URL: databaseUrl(), ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), SMTP_URL: url },
    ...{ MAIL_FROM: 'refunds@example.com', PUBLIC_URL: 'https://refunds.test' },
  });
  const mailer = openMailer(settings);
  if (mailer === null) throw new Error('There is a mail server.');
  const message = {
    subject: 'One',
    lines: [{ text: 'Two', url: 'https://refunds.test/' }],
    closing: 'Three',
  };
  await mailer.send('ada@example.com', message, 'one').finally(() => mailer.close());
}
