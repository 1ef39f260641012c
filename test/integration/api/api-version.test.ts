import { expect, test } from 'vitest';
import { apiVersions, newestApiVersion } from '#shared/platform/api-versions.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

const list = async (headers: Record<string, string> = {}, key?: string) =>
  await service.call('GET', '/v1/refunds', { headers, ...(key === undefined ? {} : { key }) });

test('every answer names its version: that of the key, or the one that was asked for', async () => {
  expect((await list()).headers['refund-version']).toBe(newestApiVersion);
  for (const version of apiVersions) {
    const { status, headers } = await list({ 'refund-version': version });
    expect([status, headers['refund-version']]).toEqual([200, version]);
  }
});

test.each(['', '1', '2026-11-23', 'latest'])(
  'the unknown version %j is refused, with those that exist',
  async (version) => {
    const { status, body } = await list({ 'refund-version': version });
    expect([status, body.error]).toEqual([
      400,
      { code: 'validation_error', message: `Refund-Version: must be one of: ${apiVersions.join(', ')}.` },
    ]);
  },
);

test('a key keeps the version that was the newest when it was created', async () => {
  const { id, key, plaintext } = await service.newKey();
  expect(key.apiVersion).toBe(newestApiVersion);
  await service.deps.db.apiKey.update({ where: { id }, data: { apiVersion: 'of another release' } });
  expect((await list({}, plaintext)).status).toBe(400);
  expect((await list({ 'refund-version': newestApiVersion }, plaintext)).status).toBe(200);
});
