import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { findChannel, openChannelUrl, setChannel } from '#shared/notifications/channel.ts';
import { findProvider, openClientSecret, setProvider } from '#shared/people/company-sign-in/provider.ts';
import { secretContext } from '#shared/people/sign-in/second-factor.ts';
import { SecretBox } from '#shared/platform/secrets/secrets.ts';
import { openEndpointSecrets } from '#shared/webhooks/endpoint-secrets.ts';
import { auditOf } from '../../support/audit-log.ts';
import { newPerson } from '../../support/people.ts';
import { adminCli, cliSettings } from '../../support/processes/admin-cli.ts';
import { openCredentials } from '../../support/processors/stored-credentials.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, refusalOf } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0 });

const rowOf = (id: string) => service.deps.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });

/** The secrets that sign so many seconds from now, the newest first. */
async function signing(id: string, inSeconds = 0): Promise<string[]> {
  const now = new Date(service.deps.clock.now().getTime() + inSeconds * 1_000);
  return openEndpointSecrets(service.deps.secrets, await rowOf(id), now);
}

async function rotate(id: string, body?: object): Promise<string> {
  const answer = await service.call('POST', `/v1/webhook-endpoints/${id}/rotate-secret`, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const { secret, ...endpoint } = answer.body.data;
  expect((await service.call('GET', `/v1/webhook-endpoints/${id}`)).body.data).toMatchObject({
    id: endpoint.id,
  });
  return secret;
}

describe('a rotation', () => {
  test('lets both secrets sign for a day, unless the client says otherwise', async () => {
    const { id, secret } = await newEndpoint(service);
    expect(await signing(id)).toEqual([secret]);
    const next = await rotate(id);
    expect(next).not.toBe(secret);
    expect(await signing(id)).toEqual([next, secret]);
    expect(await signing(id, 86_300)).toEqual([next, secret]);
    expect(await signing(id, 86_401)).toEqual([next]);
    const last = await rotate(id, { overlapSeconds: 60 });
    expect(await signing(id, 61)).toEqual([last]);
    expect((await auditOf(service, id)).slice(1)).toMatchObject([
      { action: 'webhook_endpoint.secret_rotated', detail: { overlapSeconds: 86_400 } },
      { action: 'webhook_endpoint.secret_rotated', detail: { overlapSeconds: 60 } },
    ]);
  });

  test('after the overlap of another one keeps no secret that has expired', async () => {
    const { id } = await newEndpoint(service);
    const second = await rotate(id);
    const past = new Date(Date.now() - 1_000);
    await service.deps.db.webhookEndpoint.update({ where: { id }, data: { previousSecretExpiresAt: past } });
    const third = await rotate(id);
    expect(await signing(id)).toEqual([third, second]);
  });

  test('keeps the newest five secrets, however often it is repeated', async () => {
    const { id } = await newEndpoint(service);
    const secrets: string[] = [];
    for (let count = 0; count < 7; count += 1) secrets.unshift(await rotate(id));
    expect(await signing(id)).toEqual(secrets.slice(0, 5));
    expect(await signing(id, 86_401)).toEqual(secrets.slice(0, 1));
  });

  test('at the same time as another one leaves both new secrets valid', async () => {
    const { id, secret } = await newEndpoint(service);
    const both = await Promise.all([rotate(id), rotate(id)]);
    const valid = await signing(id);
    expect(valid.toSorted()).toEqual([...both, secret].toSorted());
    expect(valid.at(-1)).toBe(secret);
  });

  test('of a secret that cannot be read works without an overlap', async () => {
    const { id } = await newEndpoint(service);
    const where = { id };
    await service.deps.db.webhookEndpoint.update({ where, data: { encryptionKeyId: 'lost' } });
    const refused = await service.call('POST', `/v1/webhook-endpoints/${id}/rotate-secret`);
    expect(refusalOf(refused)).toEqual([
      503,
      'service_unavailable',
      'The current secret cannot be read. Nothing was changed. Send overlapSeconds 0 to replace it.',
    ]);
    const secret = await rotate(id, { overlapSeconds: 0 });
    expect(await signing(id)).toEqual([secret]);
  });
});

test('a secret cannot be read in the row of another endpoint', async () => {
  const [one, other] = [await newEndpoint(service), await newEndpoint(service)];
  const { encryptedSecret } = await rowOf(one.id);
  const stolen = { ...(await rowOf(other.id)), encryptedSecret };
  expect(() => openEndpointSecrets(service.deps.secrets, stolen, new Date())).toThrow(
    'does not match its row',
  );
});

test('after a change of the encryption key everything is encrypted with the new one', async () => {
  const { id, secret } = await newEndpoint(service);
  const next = await rotate(id);
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const url = 'https://hooks.example.com/services/1';
  await setChannel(service.deps, { ...owner, actor: 'test', url });
  const provider = {
    issuer: 'https://id.example.com',
    clientId: 'refunds',
    roleClaim: 'groups',
    roles: { all: 'viewer' },
  };
  await setProvider(service.deps, {
    ...owner,
    actor: 'test',
    settings: { ...provider, clientSecret: secret },
  });
  const { userId } = await newPerson(service.deps, owner.organizationId, 'viewer');
  const { db, clock, secrets } = service.deps;
  const { bytes: encryptedSecret, keyId: encryptionKeyId } = secrets.seal(secret, secretContext(userId));
  const factor = { userId, encryptedSecret, encryptionKeyId, lastStep: 0, recoveryHashes: [] };
  await db.secondFactor.create({ data: { ...factor, enabledAt: clock.now() } });
  const settings = cliSettings(service);
  const previous = settings.ENCRYPTION_KEY;
  const newKey = randomBytes(32).toString('base64');
  const changed = { ...settings, ENCRYPTION_KEY: newKey, ENCRYPTION_PREVIOUS_KEYS: previous };
  const done = await adminCli(changed)(['secrets', 'reencrypt']);
  expect(done.code, done.stderr).toBe(0);
  expect(done.stderr).toMatch(
    /^Encrypted with ENCRYPTION_KEY: processor accounts: 4, webhook endpoints: \d+, second factors: 1, company sign-ins: 1, notification channels: 1\.\n$/,
  );
  const refused = await adminCli(settings)(['secrets', 'reencrypt']);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('ENCRYPTION_PREVIOUS_KEYS')]);
  // The old one can be removed.
  const alone = new SecretBox([newKey]);
  expect(openEndpointSecrets(alone, await rowOf(id), clock.now())).toEqual([next, secret]);
  const channel = await findChannel(db, owner);
  expect(channel === null ? null : openChannelUrl(alone, channel)).toBe(url);
  const stored = await findProvider(db, owner.organizationId);
  expect(stored === null ? null : openClientSecret(alone, stored)).toBe(secret);
  const { encryptedSecret: bytes, encryptionKeyId: keyId } = await db.secondFactor.findFirstOrThrow();
  expect(alone.open({ keyId, bytes }, secretContext(userId))).toBe(secret);
  for (const account of await db.processorAccount.findMany()) {
    expect(openCredentials(alone, account)).toHaveProperty('apiBase');
  }
});
