import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../../shared/platform/ids.ts';
import { useService } from '../../support/use-service.ts';

// Past the service, which repeats the items of a batch that fails.
const service = useService({ workers: 0 });
const sessions: pg.Client[] = [];

beforeAll(async () => {
  for (let index = 0; index < 2; index += 1) {
    const session = new pg.Client({ connectionString: service.settings.DATABASE_URL });
    await session.connect();
    sessions.push(session);
  }
});
afterAll(() => Promise.all(sessions.map((session) => session.end())));

/** Half of a payment that was just read, or that could not be. */
function half(suffix: string, named: 'ch' | 'pi' | 'py', isRead: boolean) {
  const now = new Date();
  const facts = {
    ...{ transaction_ids: [`pi_${suffix}`, `${named === 'pi' ? 'ch' : named}_${suffix}`] },
    ...{ amount: 100, currency: 'usd', charged_at: now, fetched_at: now },
  };
  return {
    ...{
      id: newId('ref'),
      organization_id: service.organization.id,
      environment: 'test',
      processor: 'stripe',
    },
    ...{
      transaction_id: `${named}_${suffix}`,
      amount: 50,
      currency: 'usd',
      reason: 'other',
      initiated_by: 'api',
    },
    ...{ actor: 'test', status: 'processing', event_id: newId('evt'), payment: isRead ? facts : {} },
  };
}

test('two sessions create batches for the same new payments by both ids in opposite orders, without a deadlock', async () => {
  for (let round = 0; round < 40; round += 1) {
    const suffixes = Array.from({ length: 40 }, (_, index) => `${round}x${index}x`);
    const batches = [
      suffixes.map((suffix, index) => half(suffix, index % 2 === 0 ? 'ch' : 'pi', index % 5 > 0)),
      suffixes
        .map((suffix, index) => half(suffix, index % 2 === 0 ? 'pi' : 'ch', index % 3 > 0))
        .toReversed(),
    ];
    const results = await Promise.all(
      batches.map(async (items, index) => {
        const text = 'select outcome from create_refunds($1::jsonb)';
        return await sessions[index]?.query<{ outcome: string }>(text, [JSON.stringify(items)]);
      }),
    );
    // One whose payment the other session holds is repeated by the service.
    for (const result of results) {
      expect(result?.rows).toHaveLength(40);
      for (const { outcome } of result?.rows ?? [])
        expect(['created', 'locked', 'unread']).toContain(outcome);
    }
  }
});
