import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminCliOf } from '../../support/processes/admin-cli.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
const admin = adminCliOf(service);

beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: 100 });
  await storePolicies(service, { approvalAbove: { api: 2_000 } });
});
afterAll(() => expectInvariants(service));

const createRefund = async (amount: number): Promise<string> =>
  (await newRefund(service, { amount, metadata: { order: '4711' } })).id;

test('lists refunds that await approval, with the step to continue with', async () => {
  const id = await createRefund(2_500);
  const listed = await admin(['refund', 'attention', '--organization', service.organization.id, '--json']);
  const { refunds } = JSON.parse(listed.stdout);
  const next = 'approve or reject it in the dashboard';
  expect(refunds).toContainEqual(expect.objectContaining({ refund: expect.objectContaining({ id }), next }));
});

test('shows a refund with its fields, its state and its timeline', async () => {
  const id = await createRefund(1_050);
  await untilStatus(service, id, 'completed');
  const { stdout, code } = await admin(['refund', 'show', id]);
  expect(code).toBe(0);
  const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
  for (const line of [
    String.raw`amount +10\.50 USD \(1050 in minor units\)$`,
    String.raw`metadata +\{"order":"4711"\}$`,
    'attemptCount +1$',
    String.raw`${time} +refund\.created +processing +key:key_`,
    String.raw`${time} .* attempt=\{"number":1,"outcome":"accepted","startedAt":"${time}"\}`,
    String.raw`${time} +refund\.completed +processing -> completed +worker +.*processorStatus="succeeded"`,
  ]) {
    expect(stdout).toMatch(new RegExp(`^${line}`, 'm'));
  }
  const json = JSON.parse((await admin(['refund', 'show', id, '--json'])).stdout);
  expect(json).toMatchObject({ refund: { id, amount: 1050 }, state: { attemptCount: 1 } });
  expect(json.events[0]).toMatchObject({ seq: 1, type: 'refund.created' });
});
