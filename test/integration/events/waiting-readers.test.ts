import { expect, test } from 'vitest';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { recordRefunds } from '../../support/webhooks/endpoints.ts';

const maxInProgress = 2;
const service = useService({ workers: 0, settings: { MAX_REQUESTS_IN_PROGRESS: maxInProgress } });

test('more waiting readers than requests may be in progress leave room for other requests', async () => {
  const { feed } = service.app.deps;
  const readers: ReturnType<typeof service.call>[] = [];
  // One after the other: until a reader waits, it is in progress.
  while (readers.length <= maxInProgress) {
    readers.push(service.call('GET', '/v1/events', { headers: { prefer: 'wait=60' } }));
    await waitFor('the reader to wait', () => feed.waiting === readers.length);
  }
  expect((await service.call('GET', '/v1/refunds')).status).toBe(200);
  // An event ends their wait.
  await recordRefunds(service, 1);
  for (const { status } of await Promise.all(readers)) expect(status).toBe(200);
});
