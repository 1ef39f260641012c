import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService();
const page = readFileSync('docs/test-payments.md', 'utf8');
const rows = [...page.matchAll(/^\| `([\w-]+)` \|.*\| `(\w+)`.*\|$/gm)].map(
  ([, transactionId = '', outcome = '']) => ({ transactionId, outcome }),
);

test('has rows', () => {
  expect(rows.length).toBeGreaterThan(5);
});

test.each(rows)('a refund of the test payment $transactionId is $outcome, as its row says', async (row) => {
  const { transactionId, outcome } = row;
  const body = { transactionId, amount: 1_500, reason: 'other' };
  const answer = (await service.call('POST', '/v1/refunds', { body })).body;
  if (answer.error !== undefined) {
    expect(answer.error.code).toBe(outcome);
    return;
  }
  const { id } = answer.data;
  if (outcome !== 'processing') {
    await untilStatus(service, id, outcome);
    return;
  }
  await waitFor('the processor to have it', async () => {
    const { data } = (await service.call('GET', `/v1/refunds/${id}`)).body;
    expect(data.status).toBe(outcome);
    return data.externalRefundId;
  });
  expect((await service.call('POST', `/v1/refunds/${id}/cancel`)).body.data.status).toBe('cancelled');
});
