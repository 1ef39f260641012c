import { expect, test } from 'vitest';
import { EventFeed } from '../../../shared/events/feed.ts';
import type { Reads } from '../../../shared/platform/database.ts';
import { openLog } from '../../../shared/platform/log.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const maxInProgress = 2;
const service = useService({ workers: 0, settings: { MAX_REQUESTS_IN_PROGRESS: maxInProgress } });

test('more waiting readers than requests may be in progress leave room for other requests', async () => {
  const { feed } = service.app.deps;
  const readers: ReturnType<typeof service.call>[] = [];
  // One after the other: until a reader waits, it is in progress.
  while (readers.length <= maxInProgress) {
    readers.push(service.call('GET', '/v1/events', { headers: { prefer: 'wait=5' } }));
    await waitFor('the reader to wait', () => feed.waiting === readers.length);
  }
  expect((await service.call('GET', '/v1/refunds')).status).toBe(200);
  for (const { status } of await Promise.all(readers)) expect(status).toBe(200);
});

test('while the database fails, a waiting reader repeats its query slowly and logs one warning', async () => {
  const logged: { level: number; msg: string }[] = [];
  const log = openLog('info', 'test', { write: (line: string) => logged.push(JSON.parse(line)) });
  let failures = 0;
  const query: Reads['query'] = async (text, values) => {
    if (!text.startsWith('SELECT settled_event_position()'))
      return await service.deps.reads.query(text, values);
    failures += 1;
    throw new Error('connection terminated');
  };
  const feed = new EventFeed({ reads: { ...service.deps.reads, query }, log }, new AbortController().signal);
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const page = await feed.read(owner, { after: undefined, type: undefined, limit: 10 }, 700);
  expect(page.data).toEqual([]);
  expect(failures).toBe(1);
  expect(logged).toMatchObject([{ level: 40, msg: 'looking for events failed; it will be repeated' }]);
});
