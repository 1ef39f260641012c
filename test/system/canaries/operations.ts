import { expect } from 'vitest';
import { setupCode } from '#shared/people/members/first-owner.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { createUser } from '#shared/people/members/users.ts';
import { startSession } from '#shared/people/sign-in/sessions.ts';
import { signIn } from '#shared/people/sign-in/sign-in.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { proofOf } from '../../support/people.ts';
import { adminCli, cliSettings } from '../../support/processes/admin-cli.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { withClient } from '../../support/stores/database-client.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { waitFor } from '../../support/wait-for.ts';
import { cards, owned, secrets } from './planted.ts';
import { type Client, clientOf } from './requests.ts';
import type { Site } from './site.ts';

/** Signs in, rightly and wrongly, and invites a member. */
export async function usePeople(site: Site): Promise<void> {
  const { deps, organization, settings } = site.processes.service;
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
  site.trail.tokens.push(
    { what: 'the token of an invitation', text: token },
    { what: 'the code of the first set-up', text: setupCode(settings.ENCRYPTION_KEY) },
  );
}

/** Makes jobs fail with an error of PostgreSQL that contains a row. */
export async function breakJobs(site: Site, { ask, create }: Client): Promise<void> {
  const words = `card ${cards.inDatabaseError.text} key ${secrets.unknownKey.text}`;
  await withClient(site.databaseUrl, async (client) => {
    await client.query(
      `create function complain() returns trigger language plpgsql as
       $$ begin raise exception 'Failing row contains (${words})' using detail = '${words}'; end $$`,
    );
    await client.query(
      'create trigger complain before update on refund_work for each row execute function complain()',
    );
  });
  const payment = await newPayment(site.processes.service);
  const { body } = await create({ transactionId: payment });
  await ask('POST', `/v1/refunds/${body.data.id}/cancel`);
  await waitFor('the queue to have kept a failed job', async () =>
    (await everyCell(site.databaseUrl)).some(({ text }) => text.includes('The job failed')),
  );
  await withClient(site.databaseUrl, (client) => client.query('drop function complain cascade'));
}

export async function startWithBadSettings(site: Site): Promise<void> {
  await Promise.all(
    badSettings(site).map(async ([what, settings]) => {
      const output = await outputOfWorker(site, { LOG_LEVEL: 'trace', ...settings });
      site.trail.logs.push([`worker with ${what}`, output]);
    }),
  );
  const api = await site.processes.startApi({ LOG_LEVEL: 'trace', DATABASE_URL: unreachableDatabase(site) });
  await clientOf(site, api).create({ transactionId: 'ch_1', metadata: { card: owned.metadata.canary.text } });
  await api.process.stop();
  site.trail.logs.push(['API without a database', api.process.output()]);
}

/** Settings that do not work, each with a secret. */
function badSettings(site: Site): [what: string, settings: Record<string, string>][] {
  const { text: password } = secrets.databasePassword;
  const wrong = new URL(site.databaseUrlWithSecret);
  wrong.username = 'nobody';
  return [
    ['no such user', { DATABASE_URL: wrong.href }],
    ['no URL at all', { DATABASE_URL: `postgresql://u:${password}@[::1:x/y` }],
    ['a slash in the password', { DATABASE_URL: `postgresql://u:/${password}@127.0.0.1:1/y` }],
    ['no encryption key', { ENCRYPTION_KEY: secrets.wrongEncryptionKey.text }],
    ['another encryption key', { ENCRYPTION_KEY: secrets.encryptionKey.text }],
    ['no Redis', { REDIS_URL: `redis://u:${secrets.redisPassword.text}@127.0.0.1:1` }],
  ];
}

function unreachableDatabase(site: Site): string {
  const gone = new URL(site.databaseUrlWithSecret);
  gone.port = '1';
  return gone.href;
}

/** The output of a worker that may fail to start. */
async function outputOfWorker(site: Site, settings: Record<string, string>): Promise<string> {
  try {
    const worker = await site.processes.startWorker(settings);
    // It may also work without a warning.
    await waitFor('a warning', () => /"level":[45]0/.test(worker.output()), { timeoutMs: 1_500 }).catch(
      () => null,
    );
    await worker.kill();
    return worker.output();
  } catch (error) {
    // It ended, and the error contains its output.
    return String(error);
  }
}

export async function administer(site: Site): Promise<void> {
  const { organization, deps } = site.processes.service;
  const env = cliSettings(site.processes.service);
  const run = async (args: readonly string[], input?: string, more: Record<string, string> = {}) => {
    site.trail.commands.push([args.slice(0, 2).join(' '), await adminCli({ ...env, ...more })(args, input)]);
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
  await run(['refund', 'attention'], '', {
    DATABASE_URL: site.databaseUrlWithSecret.replace(/:\d+\//, ':1/'),
  });
  const rejected = await rejectedFor(site, `The card ${cards.inReason.text} was stolen`);
  await run(['refund', 'show', rejected]);
}

/** The id of a new refund that was rejected for a reason. */
async function rejectedFor(site: Site, reason: string): Promise<string> {
  const { service } = site.processes;
  const payment = await newPayment(service);
  const { id: organizationId } = service.organization;
  const policy = { name: 'Ask', priority: 1, approvalAbove: { api: 1 } };
  await setPolicies(service.deps, { organizationId, file: { policies: [policy] }, actor: 'test' });
  const body = { transactionId: payment, amount: 100, reason: 'other' };
  const { id } = (await service.call('POST', '/v1/refunds', { body })).body.data;
  await service.call('POST', `/v1/refunds/${id}/reject`, { body: { reason } });
  return id;
}
