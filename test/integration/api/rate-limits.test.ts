import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { apiKeyScopes, generateApiKey, revokeApiKey } from '#shared/organizations/api-keys.ts';
import { holdRateLimits } from '../../support/clocks.ts';
import { type Recording, recordStatements } from '../../support/stores/statements.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const most = 5;
/** The service's time. */
let seconds = 1_700_000_000;
let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());

describe('an address that presents invalid API keys', () => {
  const service = useService({
    workers: 0,
    settings: { FAILED_KEYS_PER_MINUTE: most, TRUSTED_PROXIES: ['127.0.0.1'] },
    // This clock sends no statements.
    overrides: { clock: { now: () => new Date(seconds * 1_000) } },
  });
  beforeEach(holdRateLimits);

  const ask = async (key: string, address: string, url = '/v1/refunds') => {
    const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': address };
    return await service.app.inject({ method: url === '/mcp' ? 'POST' : 'GET', url, headers });
  };
  const guess = (address: string) => ask(generateApiKey('test'), address);
  const flood = async (address: string, count = 50) => {
    const statuses: number[] = [];
    for (let sent = 0; sent < count; sent += 1) statuses.push((await guess(address)).statusCode);
    return statuses;
  };

  test('gets 429 after the limit, and its further guesses cost no statement each', async () => {
    let statuses: number[] = [];
    const statements = await recording.during(async () => {
      statuses = await flood('192.0.2.1', 200);
    });
    expect(new Set(statuses.slice(0, most))).toEqual(new Set([401]));
    expect(new Set(statuses.slice(most + 1))).toEqual(new Set([429]));
    // One for each key that was looked up, and one that reads which keys are valid.
    expect(statements.length).toBeLessThanOrEqual(most + 2);
    for (const url of ['/v1/refunds', '/mcp']) {
      const refused = await ask(generateApiKey('test'), '192.0.2.1', url);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused.json().error).toEqual({
        code: 'rate_limited',
        message:
          'Too many invalid API keys from your network. Send a valid key, or wait as long as Retry-After says, then retry.',
      });
    }
  });

  test('is still served with valid keys, also with those that were never used before', async () => {
    const [fresh, revoked] = [await service.newKey(), await service.newKey()];
    await revokeApiKey(service.deps, { keyId: revoked.id, actor: 'test' });
    const other = '192.0.2.3';
    await flood(other);
    // Which keys are valid is read again.
    seconds += 1;
    for (const { plaintext } of [fresh, service.organization.keys.live]) {
      expect((await ask(plaintext, other)).statusCode).toBe(200);
    }
    expect((await ask(revoked.plaintext, other)).statusCode).toBe(429);
  });

  test('does not count malformed keys', async () => {
    for (let sent = 0; sent < 20; sent += 1) await ask('svc_test_short', '192.0.2.4');
    expect((await guess('192.0.2.4')).statusCode).toBe(401);
  });

  test.each([
    ['another address', '192.0.2.5', '192.0.2.6', 401],
    ['the same address written as IPv6', '192.0.2.7', '::ffff:192.0.2.7', 429],
    ['another address of the same /64', '2001:db8::1', '2001:db8::ffff:1', 429],
    ['an address of another /64', '2001:db8:0:1::1', '2001:db8:0:2::1', 401],
  ])('is counted apart from %s or together with it', async (_what, flooded, other, status) => {
    await flood(flooded);
    expect((await guess(other)).statusCode).toBe(status);
  });
});

describe('an organization', () => {
  const limits = { RATE_LIMIT_PER_SECOND: 4, ORGANIZATION_RATE_LIMIT_PER_SECOND: 10 };
  const service = useService({ workers: 0, settings: { ...limits, FAILED_KEYS_PER_MINUTE: most } });
  beforeEach(holdRateLimits);

  const newKeys = async (count: number, organizationId: string) =>
    await Promise.all(
      Array.from({ length: count }, async () => (await service.newKey({ organizationId })).plaintext),
    );
  const ask = async (key: string, headers: Record<string, string> = {}) =>
    await service.app.inject({ url: '/v1/refunds', headers: { authorization: `Bearer ${key}`, ...headers } });
  /** The statuses of so many requests with a key. */
  const send = async (key: string, count: number) => {
    const statuses: number[] = [];
    for (let sent = 0; sent < count; sent += 1) statuses.push((await ask(key)).statusCode);
    return statuses;
  };

  test('is limited over all of its keys, and no other organization with it', async () => {
    const keys = await newKeys(4, service.organization.id);
    const served: number[] = [];
    for (const key of keys) served.push(...(await send(key, 3)));
    expect(served).toEqual([...Array(10).fill(200), 429, 429]);
    const refused = await ask(keys[3] ?? '');
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.json().error.message).toBe(
      'Too many requests of your organization: the limit is 10 per second. Wait as long as Retry-After says, then retry.',
    );
    const other = await service.addOrganization('Other');
    const answer = await ask(other.keys.test.plaintext);
    expect(answer.statusCode).toBe(200);
    // The headers state the limit of the key.
    for (const { headers } of [refused, answer]) expect(headers['ratelimit-limit']).toBe('4');
  });

  test('is served as many requests of one moment as the limit of its key allows', async () => {
    const { id } = await service.addOrganization('With a burst');
    const [key = ''] = await newKeys(1, id);
    const answers = await Promise.all(Array.from({ length: 7 }, () => ask(key)));
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([
      ...Array(4).fill(200),
      ...Array(3).fill(429),
    ]);
    const left = answers.map(({ headers }) => Number(headers['ratelimit-remaining'])).toSorted();
    expect(left).toEqual([0, 0, 0, 0, 1, 2, 3]);
  });

  test('is served again a second after the first request of a key, whenever others sent theirs', async () => {
    const { id } = await service.addOrganization('With two keys');
    const [early = '', late = ''] = await newKeys(2, id);
    const start = Date.now();
    const at = (ms: number) => vi.mocked(Date.now).mockReturnValue(start + ms);
    expect(await send(early, 1)).toEqual([200]);
    at(600);
    expect(await send(late, 5)).toEqual([...Array(4).fill(200), 429]);
    at(1_000);
    expect(await send(late, 1)).toEqual([429]);
    expect(await send(early, 4)).toEqual(Array(4).fill(200));
    at(1_600);
    expect(await send(late, 1)).toEqual([200]);
  });

  test('is still served with its other keys when one key sends far above its limit', async () => {
    const { id } = await service.addOrganization('With a noisy key');
    const [noisy = '', quiet = ''] = await newKeys(2, id);
    expect(await send(noisy, 50)).toEqual([...Array(4).fill(200), ...Array(46).fill(429)]);
    expect(await send(quiet, 3)).toEqual([200, 200, 200]);
  });

  test('checks the limit of a key after the key and before its scope', async () => {
    const { id: organizationId } = await service.addOrganization('Approving');
    const { key, plaintext } = await service.newKey({ organizationId });
    // By default, a key has every scope but these.
    const rest = apiKeyScopes.filter((scope) => !key.scopes.includes(scope));
    expect(rest).toEqual(['refunds:approve', 'webhooks:manage', 'keys:manage']);
    const statuses: number[] = [];
    for (let sent = 0; sent < 5; sent += 1) {
      const headers = { authorization: `Bearer ${plaintext}` };
      const approve = { method: 'POST', url: '/v1/refunds/ref_1/approve', headers } as const;
      statuses.push((await service.app.inject(approve)).statusCode);
    }
    expect(statuses).toEqual([403, 403, 403, 403, 429]);
  });

  test('is guessed at by the address that connects when no proxy is trusted', async () => {
    let status = 0;
    for (let sent = 0; sent <= most + 1; sent += 1) {
      const forwarded = { 'x-forwarded-for': `192.0.2.${sent}` };
      status = (await ask(generateApiKey('test'), forwarded)).statusCode;
    }
    expect(status).toBe(429);
  });
});

describe.skipIf(inject('redisUrl') === null)('a count of requests in Redis', () => {
  const redisUrl = inject('redisUrl');
  const service = useService({
    backend: { name: 'redis', redisUrl },
    workers: 0,
    settings: { RATE_LIMIT_PER_SECOND: most },
  });

  test('ends with its second, also one that was written without an end', async () => {
    const redis = new Redis(redisUrl ?? '');
    onTestFinished(() => redis.disconnect());
    const { id } = service.organization.keys.test;
    await redis.set(`{${service.settings.QUEUE_PREFIX}-rate}${id}`, 1_000_000);
    const status = async () => (await service.call('GET', '/v1/refunds')).status;
    await waitFor('a refusal', async () => (await status()) === 429);
    await waitFor('the second to end', async () => (await status()) === 200);
  });
});
