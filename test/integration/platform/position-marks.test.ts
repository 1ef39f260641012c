import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { loadServiceSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { openPositionMarks } from '#shared/platform/position-marks.ts';
import { waitFor } from '../../support/wait-for.ts';

const redisUrl = inject('redisUrl');

test.skipIf(redisUrl === null)(
  'a worker that starts knows what others have seen before it claims anything, also without a folder of its own',
  async () => {
    const settings = loadServiceSettings({
      DATABASE_URL: 'postgresql://nowhere',
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      REDIS_URL: redisUrl ?? '',
      QUEUE_PREFIX: `test-${randomBytes(6).toString('hex')}`,
      // No folder can be made there.
      DATA_DIR: join(import.meta.filename, 'data'),
    });
    const open = () => {
      const marks = openPositionMarks(settings, openLog('silent', 'test'));
      onTestFinished(() => marks.close());
      return marks;
    };
    const mark = { generation: 'first', position: 7, eventId: 'evt_seen' };
    const before = open();
    await waitFor('the mark to be kept', async () => {
      await before.keep(mark);
      // Once in this process, and once in Redis.
      return before.reached.length === 2;
    });
    const starting = open();
    await starting.read();
    expect(starting.reached).toEqual([mark]);
  },
);
