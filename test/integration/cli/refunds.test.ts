import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditOf } from '../../support/audit-log.ts';
import { adminCliOf, onlyLine } from '../../support/processes/admin-cli.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService();
const admin = adminCliOf(service);
const inFolder = useTemporaryFolder();

beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: 100 });
  await storePolicies(service, { approvalAbove: { api: 2_000 } });
});
afterAll(() => expectInvariants(service));

const createRefund = async (amount: number): Promise<string> =>
  (await newRefund(service, { amount, metadata: { order: '4711' } })).id;

test('lists, rejects and approves refunds that await approval', async () => {
  const [rejected, approved] = [await createRefund(2_500), await createRefund(2_500)];
  const listed = await admin(['refund', 'attention', '--organization', service.organization.id, '--json']);
  const ids = JSON.parse(listed.stdout).refunds.map((item: { refund: { id: string } }) => item.refund.id);
  expect(ids).toEqual(expect.arrayContaining([rejected, approved]));

  const reason = 'The customer wants an exchange';
  expect(await admin(['refund', 'reject', rejected, '--reason', reason])).toMatchObject({ code: 0 });
  expect(await auditOf(service, rejected)).toMatchObject([
    { action: 'refund.rejected', actor: expect.stringMatching(/^cli:./), detail: { reason } },
  ]);
  const late = await admin(['refund', 'approve', rejected]);
  expect(late.code).toBe(1);
  expect(onlyLine(late.stderr)).toContain('is not awaiting approval: its status is cancelled');

  expect(await admin(['refund', 'approve', approved])).toMatchObject({ code: 0 });
  await untilStatus(service, approved, 'completed');
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

test('creates a batch from a file for an API key, pauses and resumes it, and writes its results', async () => {
  const transactionId = await newPayment(service);
  const file = join(inFolder(), 'refunds.csv');
  const rows = `transactionId,amount,reason\n${transactionId},100,other\n`;
  writeFileSync(file, rows);
  const create = ['batch', 'create', '--key', service.organization.keys.test.id, '--file', file];
  const id = onlyLine((await admin(create)).stdout);
  // As another program saves it.
  writeFileSync(file, `\ufeff${rows.replaceAll('\n', '\r\n')}`);
  expect(onlyLine((await admin([...create, '--mode', 'partial'])).stdout)).toBe(id);
  await waitFor('the batch to be completed', async () => {
    const { stdout } = await admin(['batch', 'status', id]);
    return JSON.parse(stdout).status === 'completed';
  });
  for (const verb of ['pause', 'resume'])
    expect((await admin(['batch', verb, id])).stderr).toContain('The batch is completed.');
  expect((await admin(['batch', 'results', id])).stdout).toContain(`1,created,${transactionId},ref_`);
});
