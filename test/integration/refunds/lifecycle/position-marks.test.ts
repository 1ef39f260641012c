import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { loadServiceSettings, type ServiceSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { openPositionMarks } from '#shared/refunds/lifecycle/position-marks.ts';
import { freePort } from '#test/support/processes/free-port.ts';
import { waitFor } from '#test/support/wait-for.ts';

const redisUrl = inject('redisUrl');

const mark = { generation: 'first', position: 7, eventId: 'evt_seen' };

describe.skipIf(redisUrl === null)('the position in the event feed', () => {
  const settingsOf = (more: Record<string, string> = {}) =>
    loadServiceSettings({
      DATABASE_URL: 'postgresql://nowhere',
      ENCRYPTION_KEY: newKey(),
      REDIS_URL: redisUrl ?? '',
      QUEUE_PREFIX: `test-${randomBytes(6).toString('hex')}`,
      // No folder can be made there.
      DATA_DIR: join(import.meta.filename, 'data'),
      ...more,
    });
  const newKey = () => randomBytes(32).toString('base64');
  const open = (settings: ServiceSettings) => {
    const marks = openPositionMarks(settings, openLog('silent', 'test'));
    onTestFinished(() => marks.close());
    return marks;
  };
  const keep = async (settings: ServiceSettings) => {
    const marks = open(settings);
    await waitFor('the mark to be kept', async () => {
      await marks.keep(mark);
      // Once in this process, and once in Redis.
      return marks.reached.length === 2;
    });
  };
  const readBy = async (settings: ServiceSettings) => {
    const starting = open(settings);
    await starting.read();
    return starting.reached;
  };

  test('a worker that starts knows what others have seen before it claims anything, also without a folder of its own', async () => {
    const settings = settingsOf();
    await keep(settings);
    expect(await readBy(settings)).toEqual([mark]);
  });

  test('what was signed with a previous key is believed', async () => {
    const settings = settingsOf();
    await keep(settings);
    const rotated = {
      ...settings,
      ENCRYPTION_KEY: newKey(),
      ENCRYPTION_PREVIOUS_KEYS: [settings.ENCRYPTION_KEY],
    };
    expect(await readBy(rotated)).toEqual([mark]);
  });

  test('what others write to Redis is not believed, and is replaced', async () => {
    const settings = settingsOf();
    await keep({ ...settings, ENCRYPTION_KEY: newKey() });
    expect(await readBy(settings)).toEqual([]);
    const redis = new Redis(redisUrl ?? '');
    onTestFinished(() => redis.disconnect());
    await redis.set(`{${settings.QUEUE_PREFIX}}:feed-position`, JSON.stringify({ ...mark, generation: 'z' }));
    expect(await readBy(settings)).toEqual([]);
    await keep(settings);
    expect(await readBy(settings)).toEqual([mark]);
  });

  test('a Redis Cluster that cannot be reached keeps no worker from starting', async () => {
    const nowhere = `redis://127.0.0.1:${await freePort()}`;
    expect(await readBy(settingsOf({ REDIS_URL: `${nowhere},${nowhere}` }))).toEqual([]);
  });
});
