import { describe, expect, test } from 'vitest';
import { holdRateLimits } from '../../support/clocks.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { query, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('pages that wait for the database', () => {
  const service = useService({ workers: 0, settings: { DATABASE_POOL_SIZE: 2, DASHBOARD_POOL_SIZE: 2 } });

  test('delay no refund', async () => {
    const { visitor } = await signInMember(service, 'viewer');
    const transactionId = await newPayment(service);
    const body = { transactionId, amount: 100, currency: 'usd', reason: 'other' };
    const created = await withClient(service.databaseUrl, async (locker) => {
      await locker.query('BEGIN');
      // The overview reads this table, and creating a refund does not.
      await locker.query('LOCK TABLE reconciliation_run IN ACCESS EXCLUSIVE MODE');
      const pages = Array.from({ length: 8 }, () =>
        visitor.get(`/dashboard/${service.organization.id}/test`),
      );
      await waitFor('all connections of the pages to wait', async () => {
        // On another connection: within the transaction the view would not change.
        const waiting = await query(
          service.databaseUrl,
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return waiting.length === 2;
      });
      const answer = await service.call('POST', '/v1/refunds', {
        body,
        headers: { prefer: 'respond-async' },
      });
      await locker.query('ROLLBACK');
      await Promise.all(pages);
      return answer;
    });
    expect(created).toMatchObject({ status: 200, body: { data: { status: 'processing' } } });
  });
});

describe('a member who exceeds the request rate', () => {
  const service = useService({ workers: 0, settings: { RATE_LIMIT_PER_SECOND: 1_000 } });

  test('gets 429, and no other member does', async () => {
    const [hasty, other] = [await signInMember(service, 'viewer'), await signInMember(service, 'viewer')];
    const open = () => hasty.visitor.get('/dashboard/you');
    holdRateLimits();
    for (let round = 0; round < 10; round += 1) expect((await open()).status).toBe(200);
    const pages = await Promise.all(Array.from({ length: 40 }, open));
    const refused = pages.find(({ status }) => status === 429);
    expect(refused?.text).toContain('Too many requests');
    expect(refused?.headers['retry-after']).toBe('1');
    expect((await other.visitor.get('/dashboard/you')).status).toBe(200);
  });
});
