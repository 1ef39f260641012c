import { randomBytes } from 'node:crypto';
import { Queue } from 'bullmq';
import { describe, expect, inject, test } from 'vitest';
import { loadSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { deliveryQueueName, openQueues, refundQueueName } from '#shared/platform/queues.ts';
import { waitFor } from '../../support/wait-for.ts';

const redisUrl = inject('redisUrl');

describe.skipIf(redisUrl === null)("BullMQ's own tools", () => {
  test('find the jobs of every queue under the prefix in braces', async () => {
    const name = `test-${randomBytes(6).toString('hex')}`;
    const settings = { ...loadSettings({}), REDIS_URL: redisUrl, QUEUE_PREFIX: name };
    const queues = openQueues(settings, ['stripe'], openLog('silent', 'test'));
    queues.wake('stripe');
    queues.wakeWorkers();
    const connection = { url: redisUrl ?? '' };
    for (const each of [refundQueueName('stripe'), deliveryQueueName]) {
      const queue = new Queue(each, { connection, prefix: `{${name}}` });
      const [job] = await waitFor('the wake-up', async () => {
        const waiting = await queue.getWaiting();
        return waiting.length > 0 ? waiting : null;
      });
      expect(job).toMatchObject({ name: 'wake-up', queueName: each });
      await queue.close();
    }
    await queues.close();
  });
});
