import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { createApiKey, generateApiKey, revokeApiKey } from '../../shared/organizations/api-keys.ts';
import { setupCode } from '../../shared/people/first-owner.ts';
import { invite } from '../../shared/people/invitations.ts';
import { startSession } from '../../shared/people/sessions.ts';
import { signIn } from '../../shared/people/sign-in.ts';
import { createUser } from '../../shared/people/users.ts';
import { setPolicies } from '../../shared/policies/stored-policies.ts';
import { credentialContext } from '../../shared/processors/accounts/connections.ts';
import { setProcessorAccount } from '../../shared/processors/accounts/manage-accounts.ts';
import { type ApiProcess, type Deployment, deploy } from '../support/faults/deployment.ts';
import { type Canary, findCanaries, newCanary, newCard } from '../support/http/canaries.ts';
import { rawRequest, sendBytes } from '../support/http/raw-http.ts';
import { proofOf } from '../support/people.ts';
import { adminCli, type CliResult } from '../support/processes/admin-cli.ts';
import { echoing } from '../support/processors/echoing-processor.ts';
import { useScriptedServers } from '../support/processors/scripted-server.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { isRelease } from '../support/release.ts';
import { postgresQueues, queueBackends } from '../support/stores/backends.ts';
import { useDatabase } from '../support/stores/database.ts';
import { withClient } from '../support/stores/database-client.ts';
import { byteColumns, everyCell } from '../support/stores/database-content.ts';
import { everyRedisKey, type RunningRedis, startRedis } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait-for.ts';

vi.setConfig({ hookTimeout: 500_000 });

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

/** Secrets that must appear nowhere, one for each place where they are entered. */
const secrets = {
  databasePassword: newCanary('the password of the database'),
  redisPassword: newCanary('the password of Redis'),
  encryptionKey: { what: 'ENCRYPTION_KEY', text: randomBytes(32).toString('base64') },
  wrongEncryptionKey: newCanary('an invalid ENCRYPTION_KEY'),
  stripeKey: newCanary('a Stripe secret key', 'sk_test_'),
  restrictedKey: newCanary('a restricted Stripe key', 'rk_live_'),
  publicKey: newCanary('a Braintree public key'),
  privateKey: newCanary('a Braintree private key'),
  webhookSecret: newCanary('a webhook secret, which a processor repeats', 'whsec_'),
  clientSecret: newCanary('a client secret in place of the id of a payment, which a processor repeats'),
  badCredential: newCanary('rejected credentials'),
  dashboardPassword: newCanary('the password of a user'),
  triedPassword: newCanary('a wrong password'),
  sessionId: newCanary('the session id of a cookie'),
  unknownKey: { what: 'an unknown API key', text: generateApiKey('live') },
  keyInQuery: { what: 'an API key in a query', text: generateApiKey('live') },
  keyInPath: { what: 'an API key in a path', text: generateApiKey('test') },
  keyInBody: { what: 'an API key as the name of a field', text: generateApiKey('live') },
  basicPassword: { what: 'an Authorization header of another scheme', text: newCanary('').text },
  argument: newCanary('a Stripe key as an argument of the command line', 'sk_live_'),
} satisfies Record<string, Canary>;

const clientSecret = `pi_3Test_secret_${secrets.clientSecret.text}`;

/** Card numbers that must appear nowhere. */
const cards = {
  inQuery: newCard('a card in the query'),
  inPath: newCard('a card in the path'),
  inHeader: newCard('a card in a header'),
  inName: newCard('a card as the name of a field'),
  inNumber: newCard('a card as a number that is too large', 19),
  inProcessorWords: newCard("a card in a processor's message"),
  inReason: newCard('a card in the reason of a rejection'),
  inDatabaseError: newCard('a card in an error of PostgreSQL'),
  inCurrency: newCard('a card as a currency'),
};

/** Data of a client, which is stored only in its own columns. */
const owned: Record<string, { canary: Canary; columns: readonly string[] }> = {
  metadata: {
    canary: newCard('a card in metadata'),
    columns: ['public.refund.metadata'],
  },
  transactionId: {
    canary: newCard('a card as a transaction id'),
    columns: ['public.refund.transaction_id', 'public.payment.transaction_id'],
  },
  idempotencyKey: {
    canary: newCard('a card as an Idempotency-Key'),
    columns: ['public.refund.idempotency_key'],
  },
};

/** Columns of bytes, which are encrypted or hashed, as a test below shows. */
const sealedColumns = [
  'public.api_key.hash',
  'public.invitation.token_hash',
  'public.lockout.subject',
  'public.processor_account.encrypted_credentials',
  'public.refund.fingerprint',
  'public.session.hash',
  'public.webhook_endpoint.encrypted_previous_secret',
  'public.webhook_endpoint.encrypted_secret',
];

const forbidden: Canary[] = [...Object.values(secrets), ...Object.values(cards)];
const everything: Canary[] = [...forbidden, ...Object.values(owned).map(({ canary }) => canary)];

/** Everything that `drive` leaves behind. */
interface Trail {
  logs: [process: string, text: string][];
  answers: [request: string, text: string][];
  commands: [command: string, result: CliResult][];
  titles: [process: string, text: string][];
}

const backends = isRelease ? queueBackends : [postgresQueues];

describe.each(backends)('secrets and card numbers, queues on $name', (backend) => {
  const databaseUrl = useDatabase();
  const serve = useScriptedServers();
  const trail: Trail = { logs: [], answers: [], commands: [], titles: [] };
  let processes: Deployment;
  let redis: RunningRedis | null = null;
  let databaseUrlWithSecret: string;
  const keys: Canary[] = [];
  const tokens: Canary[] = [];

  beforeAll(async () => {
    databaseUrlWithSecret = await withPassword(databaseUrl(), secrets.databasePassword.text);
    if (backend.redisUrl !== null) {
      redis = await startRedis({ args: ['--requirepass', secrets.redisPassword.text] });
    }
    const withSecret = {
      name: backend.name,
      redisUrl: redis === null ? null : redisUrl(secrets.redisPassword.text),
    };
    processes = await deploy({
      databaseUrl: databaseUrlWithSecret,
      backend: withSecret,
      compiledFolder: inject('compiledFolder'),
    });
    await drive();
  });
  afterAll(async () => {
    await processes?.close();
    await redis?.stop();
  });

  const redisUrl = (password: string) => `redis://:${password}@127.0.0.1:${redis?.port}`;
  const all = () => [
    ...everything,
    ...keys,
    ...tokens,
    { what: 'the ENCRYPTION_KEY', text: processes.service.settings.ENCRYPTION_KEY },
  ];

  /** Uses every part of the service, also wrongly, with a canary in every input. */
  async function drive(): Promise<void> {
    const { service } = processes;
    const { deps, organization } = service;
    keys.push(
      ...Object.values(organization.keys).map(({ plaintext: text }) => ({ what: 'an API key', text })),
    );
    const revoked = await createApiKey(deps, {
      organizationId: organization.id,
      environment: 'test',
      actor: 'test',
    });
    await revokeApiKey(deps, { keyId: revoked.id, actor: 'test' });
    keys.push({ what: 'a revoked API key', text: revoked.plaintext });
    await usePeople();
    const trace = { LOG_LEVEL: 'trace', CREATE_WAIT_MS: '1500', CANCEL_WAIT_MS: '500' };
    const [api, worker] = await Promise.all([processes.startApi(trace), processes.startWorker(trace)]);
    for (const [name, { pid }] of [
      ['API', api.process],
      ['worker', worker],
    ] as const) {
      trail.titles.push([name, readFileSync(`/proc/${pid}/cmdline`, 'utf8')]);
    }
    await useCorrectly(api);
    await useWrongly(api, revoked.plaintext);
    await useEchoingProcessors(api);
    await breakJobs(api);
    await worker.kill();
    await api.process.stop();
    trail.logs.push(['API', api.process.output()], ['worker that was killed', worker.output()]);
    await startWithBadSettings(backend.name === 'redis' ? badRedis() : badSettings());
    if (backend.name === 'postgres') await administer();
  }

  /** Signs in, rightly and wrongly, and invites a member. */
  async function usePeople(): Promise<void> {
    const { deps, organization, settings } = processes.service;
    const owner = { email: 'person@example.com', password: secrets.dashboardPassword.text };
    const membership = { organizationId: organization.id, role: 'owner' as const, actor: 'test' };
    const { id: userId } = await createUser(deps, { ...owner, ...membership });
    expect((await signIn(deps, owner)).kind).toBe('signed-in');
    await signIn(deps, { ...owner, password: secrets.triedPassword.text });
    const browser = { userAgent: 'A browser', ip: '192.0.2.1' };
    const proof = await proofOf(deps.db, userId);
    await startSession(deps, { sid: secrets.sessionId.text, proof, data: {}, ...browser });
    const { token } = await invite(deps, {
      organizationId: organization.id,
      acting: { userId },
      email: 'guest@example.com',
      role: 'viewer',
    });
    tokens.push(
      { what: 'the token of an invitation', text: token },
      { what: 'the code of the first set-up', text: setupCode(settings.ENCRYPTION_KEY) },
    );
  }

  async function ask(
    api: ApiProcess,
    method: string,
    path: string,
    options: RequestInit & { key?: string } = {},
  ) {
    const { key = processes.service.organization.keys.test.plaintext, headers, ...rest } = options;
    const response = await fetch(`${api.url}${path}`, {
      signal: AbortSignal.timeout(20_000),
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...rest,
    });
    const text = await response.text();
    const answeredHeaders = JSON.stringify([...response.headers]);
    // A success repeats the client's data, a refusal does not.
    trail.answers.push([`${method} ${path}`, response.ok ? answeredHeaders : `${answeredHeaders}\n${text}`]);
    return { status: response.status, body: JSON.parse(text) };
  }
  const create = async (api: ApiProcess, body: object, options: RequestInit & { key?: string } = {}) =>
    await ask(api, 'POST', '/v1/refunds', {
      body: JSON.stringify({ amount: 100, reason: 'other', ...body }),
      ...options,
    });

  async function useCorrectly(api: ApiProcess): Promise<void> {
    const { metadata, transactionId, idempotencyKey } = owned as Record<string, { canary: Canary }>;
    const payment = await newPayment(processes.service);
    const { status, body } = await create(
      api,
      { transactionId: payment, metadata: { card: metadata?.canary.text } },
      { headers: { 'idempotency-key': idempotencyKey?.canary.text ?? '' } },
    );
    expect([status, body.data?.metadata]).toEqual([200, { card: metadata?.canary.text }]);
    // The sandbox knows every id that Braintree could have.
    const card = { transactionId: transactionId?.canary.text, processor: 'braintree' };
    expect((await create(api, card, { headers: { 'idempotency-key': 'of-a-card' } })).status).toBe(200);
    await ask(api, 'GET', `/v1/refunds/${body.data.id}`);
    await ask(api, 'GET', '/v1/refunds?limit=10');
    await ask(api, 'POST', `/v1/refunds/${body.data.id}/cancel`);
    await ask(api, 'POST', '/v1/policies/check', { body: JSON.stringify({ transactionId: payment }) });
  }

  async function useWrongly(api: ApiProcess, revokedKey: string): Promise<void> {
    const unknown = secrets.unknownKey.text;
    for (const key of [unknown, revokedKey, `${unknown}x`, unknown.toLowerCase()]) {
      await ask(api, 'GET', '/v1/refunds', { key });
    }
    const authorization = basic(`user:${secrets.basicPassword.text}`);
    await ask(api, 'GET', '/v1/refunds', { headers: { authorization } });
    const [query, path] = [secrets.keyInQuery.text, secrets.keyInPath.text];
    for (const target of [
      `/v1/refunds?access_token=${query}&card=${cards.inQuery.text}`,
      `/v1/refunds?limit=${query}`,
      `/v1/refunds?status=${cards.inQuery.text}&processor=%20${query}`,
      `/v1/nowhere?token=%22${query}%22&card=%3D${cards.inQuery.text}`,
      `/v1/refunds/${path}`,
      `/v1/refunds/a${path}`,
      `/v1/refunds/%20${path}`,
      `/v1/refunds/${path.replace('svc_', '%73vc%5f')}`,
      `/v1/refunds/${clientSecret}`,
      `/v1/refunds/${cards.inPath.text}`,
      `/v1/refunds/card${cards.inPath.text}x`,
      `/v1/refunds/${cards.inPath.text.replace(/\d{4}(?=\d)/g, '$&%20')}`,
      `/v1/nowhere/%3A${path}/${cards.inPath.text}`,
      ...tokens.filter(({ text }) => text.startsWith('invite_')).map(({ text }) => `/v1/nowhere/${text}`),
    ]) {
      await ask(api, 'GET', target);
    }
    const headers = {
      'user-agent': cards.inHeader.text,
      'x-card': cards.inHeader.text,
      cookie: `key=${query}`,
    };
    await ask(api, 'GET', '/v1/refunds', { headers: { ...headers, prefer: `wait=${cards.inHeader.text}` } });
    await create(
      api,
      { transactionId: 'ch_1' },
      { headers: { 'idempotency-key': `a ${cards.inHeader.text}` } },
    );
    await create(api, { transactionId: 'ch_1', [secrets.keyInBody.text]: 1 });
    await create(api, { transactionId: 'ch_1', [cards.inName.text]: 1 });
    await create(api, { transactionId: 'ch_1', currency: cards.inCurrency.text });
    await create(api, { transactionId: 'ch_1', metadata: { constructor: cards.inName.text } });
    await create(api, { transactionId: owned.transactionId?.canary.text, processor: 'stripe' });
    for (const processor of ['stripe', 'braintree', undefined]) {
      await create(
        api,
        { transactionId: clientSecret, processor },
        { headers: { 'idempotency-key': 'pasted' } },
      );
    }
    await ask(api, 'POST', '/v1/policies/check', { body: JSON.stringify({ transactionId: clientSecret }) });
    const raw = (text: string) => ask(api, 'POST', '/v1/refunds', { body: text });
    await raw(`{"amount":${cards.inNumber.text}}`);
    await raw(`{"amount":1,"${cards.inName.text}":1,"${cards.inName.text}":2}`);
    await raw(`{"${secrets.keyInBody.text}"`);
    const port = Number(new URL(api.url).port);
    for (const lines of [
      [`GET /v1/refunds/%zz${secrets.keyInPath.text} HTTP/1.1`, 'Host: x', 'Connection: close'],
      [`STEAL /${secrets.keyInPath.text} HTTP/1.1`, 'Host: x'],
      ['GET / HTTP/1.1', `Host: ${cards.inHeader.text}`, `X A: ${secrets.keyInQuery.text}`],
      ['GET / HTTP/1.1', 'Host: x', `X-Large: ${secrets.keyInQuery.text.repeat(500)}`],
      [
        'GET /v1/x HTTP/1.1',
        `Host: ${cards.inHeader.text}`,
        `Expect: ${secrets.keyInQuery.text}`,
        'Connection: close',
      ],
    ]) {
      trail.answers.push([lines[0]?.slice(0, 10) ?? '', (await sendBytes(port, rawRequest(lines))).raw]);
    }
  }

  /** Uses processors whose messages repeat the request and contain secrets. */
  async function useEchoingProcessors(api: ApiProcess): Promise<void> {
    const { service } = processes;
    const telling = [
      ...[secrets.webhookSecret, secrets.restrictedKey, cards.inProcessorWords].map(({ text }) => text),
      clientSecret,
      `postgresql://someone:${secrets.databasePassword.text}@host/database`,
    ];
    const { url: apiBase } = await serve(echoing(telling.join(' ')));
    const { id: organizationId, keys: own } = await service.addOrganization('Told');
    const { text: publicKey } = secrets.publicKey;
    const credentials = {
      stripe: { secretKey: secrets.stripeKey.text, webhookSecret: secrets.webhookSecret.text, apiBase },
      braintree: { merchantId: 'told', publicKey, privateKey: secrets.privateKey.text, apiBase },
    };
    for (const processor of ['stripe', 'braintree'] as const) {
      const account = { organizationId, environment: 'test' as const, processor, actor: 'test' };
      await setProcessorAccount(service.deps, { ...account, credentials: credentials[processor] });
    }
    keys.push({ what: 'an API key', text: own.test.plaintext });
    const { id: accountId } = await service.deps.db.processorAccount.findFirstOrThrow({
      where: { organizationId, environment: 'test', processor: 'stripe' },
    });
    await ask(api, 'POST', `/webhooks/stripe/${accountId}?card=${cards.inQuery.text}`, {
      body: JSON.stringify({ id: 'evt_1', data: telling }),
      headers: { 'stripe-signature': `t=1,v1=${secrets.webhookSecret.text}` },
    });
    const { plaintext: key } = own.test;
    for (const word of ['unreadable', 'rejected', 'broken', 'throttled', 'forbidden']) {
      await create(api, { transactionId: `ch_${word}` }, { key });
      await create(api, { transactionId: `sale${word}`, processor: 'braintree' }, { key });
      await ask(api, 'POST', '/v1/policies/check', {
        key,
        body: JSON.stringify({ transactionId: `ch_${word}2` }),
      });
    }
    await waitFor('the worker to have got every kind of answer', async () => {
      const told = await service.deps.db.refundAttempt.groupBy({
        by: ['outcome'],
        where: { refund: { organizationId } },
      });
      const outcomes = new Set(told.map(({ outcome }) => outcome));
      return ['rejected', 'unknown', 'misconfigured'].every((outcome) => outcomes.has(outcome as 'unknown'));
    });
  }

  /** Makes jobs fail with an error of PostgreSQL that contains a row. */
  async function breakJobs(api: ApiProcess): Promise<void> {
    const words = `card ${cards.inDatabaseError.text} key ${secrets.unknownKey.text}`;
    await withClient(databaseUrl(), async (client) => {
      await client.query(
        `create function complain() returns trigger language plpgsql as
         $$ begin raise exception 'Failing row contains (${words})' using detail = '${words}'; end $$`,
      );
      await client.query(
        'create trigger complain before update on refund_work for each row execute function complain()',
      );
    });
    const payment = await newPayment(processes.service);
    const { body } = await create(api, { transactionId: payment });
    await ask(api, 'POST', `/v1/refunds/${body.data.id}/cancel`);
    await waitFor('the queue to have kept a failed job', async () => (await failedJobs()).length > 0);
    await withClient(databaseUrl(), (client) => client.query('drop function complain cascade'));
  }

  async function failedJobs(): Promise<string[]> {
    const stored =
      redis === null
        ? await everyCell(databaseUrl())
        : await everyRedisKey(redisUrl(secrets.redisPassword.text));
    return stored.map(({ text }) => text).filter((text) => text.includes('The job failed'));
  }

  /** Settings that do not work, each with a secret. */
  function badSettings(): [what: string, settings: Record<string, string>][] {
    const { text: password } = secrets.databasePassword;
    const wrong = new URL(databaseUrlWithSecret);
    wrong.username = 'nobody';
    return [
      ['no such user', { DATABASE_URL: wrong.href }],
      ['no URL at all', { DATABASE_URL: `postgresql://u:${password}@[::1:x/y` }],
      ['a slash in the password', { DATABASE_URL: `postgresql://u:/${password}@127.0.0.1:1/y` }],
      ['no encryption key', { ENCRYPTION_KEY: secrets.wrongEncryptionKey.text }],
      ['another encryption key', { ENCRYPTION_KEY: secrets.encryptionKey.text }],
    ];
  }

  function badRedis(): [what: string, settings: Record<string, string>][] {
    const { text: password } = secrets.redisPassword;
    return [
      ['a wrong password of Redis', { REDIS_URL: redisUrl(`${password}x`) }],
      ['no Redis', { REDIS_URL: `redis://u:${password}@127.0.0.1:1` }],
    ];
  }

  function unreachableDatabase(): string {
    const gone = new URL(databaseUrlWithSecret);
    gone.port = '1';
    return gone.href;
  }

  async function startWithBadSettings(
    attempts: [what: string, settings: Record<string, string>][],
  ): Promise<void> {
    await Promise.all(
      attempts.map(async ([what, settings]) => {
        const output = await outputOfWorker({ LOG_LEVEL: 'trace', ...settings });
        trail.logs.push([`worker with ${what}`, output]);
      }),
    );
    const api = await processes.startApi({ LOG_LEVEL: 'trace', DATABASE_URL: unreachableDatabase() });
    await create(api, { transactionId: 'ch_1', metadata: { card: owned.metadata?.canary.text } });
    await api.process.stop();
    trail.logs.push(['API without a database', api.process.output()]);
  }

  /** The output of a worker that may fail to start. */
  async function outputOfWorker(settings: Record<string, string>): Promise<string> {
    try {
      const worker = await processes.startWorker(settings);
      // It may also work without a warning.
      await waitFor('a warning', () => /"level":[45]0/.test(worker.output()), { timeoutMs: 5_000 }).catch(
        () => null,
      );
      await worker.kill();
      return worker.output();
    } catch (error) {
      // It ended, and the error contains its output.
      return String(error);
    }
  }

  async function administer(): Promise<void> {
    const { settings, organization, deps } = processes.service;
    const { DATABASE_URL, ENCRYPTION_KEY, QUEUE_PREFIX } = settings;
    const env = { DATABASE_URL, ENCRYPTION_KEY, QUEUE_PREFIX };
    const run = async (args: readonly string[], input?: string, more: Record<string, string> = {}) => {
      trail.commands.push([args.slice(0, 2).join(' '), await adminCli({ ...env, ...more })(args, input)]);
    };
    const flagged = await deps.db.refund.findFirstOrThrow({ where: { work: { flaggedAt: { not: null } } } });
    const account = ['--organization', organization.id, '--environment', 'test', '--processor', 'stripe'];
    const argument = secrets.argument.text;
    await run(['refund', 'attention', '--json']);
    await run(['refund', 'show', flagged.id]);
    await run(['account', 'list', '--organization', organization.id, '--json']);
    await run(['account', 'set', ...account], JSON.stringify({ secretKey: secrets.badCredential.text }));
    await run(['account', 'set', ...account], `{"secretKey": ${secrets.badCredential.text}`);
    await run(
      ['account', 'set', ...account],
      JSON.stringify({ [secrets.restrictedKey.text]: 1, secretKey: argument }),
    );
    await run(['account', 'set', ...account, `--secret-key=${argument}`]);
    await run(['key', 'revoke', argument]);
    await run(['key', 'list', '--organization', cards.inPath.text]);
    await run(['refund', 'attention'], '', { ENCRYPTION_KEY: secrets.wrongEncryptionKey.text });
    await run(['refund', 'attention'], '', {
      DATABASE_URL: `postgresql://u:${secrets.databasePassword.text}@[::1:x/y`,
    });
    await run(['refund', 'attention'], '', { DATABASE_URL: databaseUrlWithSecret.replace(/:\d+\//, ':1/') });
    const pending = await waitForApproval();
    await run(['refund', 'reject', pending, '--reason', `The card ${cards.inReason.text} was stolen`]);
  }

  /** Creates a refund that needs approval, and returns its id. */
  async function waitForApproval(): Promise<string> {
    const { service } = processes;
    const payment = await newPayment(service);
    const { id: organizationId } = service.organization;
    const policy = { name: 'Ask', priority: 1, approvalAbove: { api: 1 } };
    await setPolicies(service.deps, { organizationId, file: { policies: [policy] }, actor: 'test' });
    const body = { transactionId: payment, amount: 100, reason: 'other' };
    return (await service.call('POST', '/v1/refunds', { body })).body.data.id;
  }

  test('do not appear in logs of level trace', () => {
    expect(trail.logs.map(([, text]) => text.length > 0)).not.toContain(false);
    expect(trail.logs.map(([, text]) => text).join('')).toMatch(/"level":50/);
    expect(trail.logs.flatMap(([name, text]) => findCanaries(all(), name, text))).toEqual([]);
  });

  test('do not appear in refusals or in the headers of answers', () => {
    expect(trail.answers.length).toBeGreaterThan(40);
    expect(trail.answers.flatMap(([name, text]) => findCanaries(all(), name, text))).toEqual([]);
  });

  // Commands do the same on both backends.
  if (backend.name === 'postgres') {
    test('do not appear in the output of the command line', () => {
      expect(trail.commands.filter(([, { code }]) => code === 0).length).toBeGreaterThan(3);
      const found = trail.commands.flatMap(([command, { stdout, stderr }]) =>
        findCanaries([...forbidden, ...keys], command, `${stdout}\n${stderr}`),
      );
      expect(found).toEqual([]);
    });
  }

  test('do not appear in the titles of processes', () => {
    expect(trail.titles).toHaveLength(2);
    expect(trail.titles.flatMap(([name, text]) => findCanaries(all(), name, text))).toEqual([]);
  });

  test("do not appear in the database, except a client's own data in its columns", async () => {
    const cells = await everyCell(databaseUrl());
    const allowed = ({ text }: Canary, column: string) =>
      Object.values(owned).some(({ canary, columns }) => canary.text === text && columns.includes(column));
    const found = cells.flatMap(({ column, text }) =>
      findCanaries(
        all().filter((canary) => !allowed(canary, column)),
        column,
        text,
      ),
    );
    expect(found).toEqual([]);
    // The allowed data is found, so that the search works.
    for (const { canary, columns } of Object.values(owned)) {
      const own = cells.filter(({ column, text }) => columns.includes(column) && text.includes(canary.text));
      expect(own.length, canary.what).toBeGreaterThan(0);
    }
  });

  test('are encrypted or hashed in columns of bytes', async () => {
    expect(await byteColumns(databaseUrl())).toEqual(sealedColumns);
    const { db, secrets: box } = processes.service.deps;
    for (const account of await db.processorAccount.findMany()) {
      const sealed = { keyId: account.encryptionKeyId, bytes: account.encryptedCredentials };
      expect(() => box.open(sealed, 'another row')).toThrow();
      expect(JSON.parse(box.open(sealed, credentialContext(account)))).toBeTypeOf('object');
    }
    const hashes = (await db.apiKey.findMany()).map(({ hash }) => Buffer.from(hash).toString('hex'));
    for (const { text } of keys) {
      const digest = createHash('sha256').update(text).digest('hex');
      expect(hashes).toContain(digest);
    }
    const bound = await db.refund.findMany({ where: { fingerprint: { not: null } } });
    for (const { fingerprint } of bound) expect(fingerprint).toHaveLength(32);
    for (const { passwordHash } of await db.user.findMany()) expect(passwordHash).toMatch(/^\$argon2id\$/);
  });

  test('do not appear in names, data, failure reasons or stacks of jobs', async () => {
    expect((await failedJobs()).length).toBeGreaterThan(0);
    if (redis === null) return;
    const entries = await everyRedisKey(redisUrl(secrets.redisPassword.text));
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.flatMap(({ key, text }) => findCanaries(all(), key, `${key}\n${text}`))).toEqual([]);
  });

  /** The URL of the database for a new user with this password. */
  async function withPassword(serverUrl: string, password: string): Promise<string> {
    const user = `canary_${randomBytes(4).toString('hex')}`;
    await withClient(serverUrl, (client) =>
      client.query(`create role ${user} login superuser password '${password}'`),
    );
    const url = new URL(serverUrl);
    url.username = user;
    url.password = password;
    return url.href;
  }
});
