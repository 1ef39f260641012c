import { beforeAll, describe, expect, inject, test } from 'vitest';
import { noteComplaints, openBrowser } from '../../support/dashboard/browser.ts';
import { failedJob, boardUrl as prefix, startBoard } from '../../support/dashboard/queue-board.ts';
import { madeBeforeTests } from '../../support/made-before-tests.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { useEmptyDatabase } from '../../support/stores/database.ts';
import { waitFor } from '../../support/wait-for.ts';

const chromiumPath = inject('chromiumPath');

describe.skipIf(chromiumPath === null)('in a browser', () => {
  const databaseUrl = useEmptyDatabase();
  const profile = useTemporaryFolder();
  const board = madeBeforeTests(
    'The board',
    () => startBoard(databaseUrl(), postgresQueues),
    (made) => made.close(),
  );
  let origin: string;
  beforeAll(async () => {
    origin = await board.app.listen({ host: '127.0.0.1', port: 0 });
    board.setAccess(true);
  });

  test('all pages comply with the content policy, and jobs can be retried', async () => {
    const { id } = await failedJob(board);
    const browser = await openBrowser(chromiumPath ?? '', profile('browser'));
    try {
      const page = await browser.newPage();
      const complaints = noteComplaints(page);
      const retry = page.getByRole('button', { name: 'Retry all' });
      const open = async (path: string, shown: string) => {
        await page.goto(`${origin}${prefix}${path}`, { waitUntil: 'networkidle' });
        await page.getByText(shown).first().waitFor();
      };
      await open('', 'refunds-braintree');
      await open('/job-schedulers', 'All queues');
      await open(`/queue/refunds-stripe/${id}`, 'wake-up');
      await open('/queue/refunds-stripe?status=failed', 'wake-up');
      await retry.click();
      await page.getByRole('button', { name: /confirm/i }).click();
      await waitFor('the job to be done', () => board.countDone() === 1);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
