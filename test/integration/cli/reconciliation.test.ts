import { beforeAll, describe, expect, test } from 'vitest';
import { paused } from '#test/support/processors/paused.ts';
import { adminCliOf } from '../../support/processes/admin-cli.ts';
import { endAtProcessor } from '../../support/processors/end-at-processor.ts';
import { workWhatIsDue } from '../../support/processors/reconciliation.ts';
import { completedRefund } from '../../support/refunds/flagged-refunds.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const admin = adminCliOf(service);

beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));

const run = (...args: string[]) =>
  admin(['reconciliation', 'run', '--organization', service.organization.id, ...args]);
const stripeTest = ['--environment', 'test', '--processor', 'stripe'];

describe('reconciliation run', () => {
  test('compares every account of the organization, and exits with 0 when all agree', async () => {
    await completedRefund(service, 'stripe');
    await completedRefund(service, 'braintree');
    const { code, stdout, stderr } = await run('--json');
    expect(code, stderr).toBe(0);
    const reports = JSON.parse(stdout);
    expect(reports).toHaveLength(4);
    for (const report of reports)
      expect(report).toMatchObject({ failure: null, findings: [], needsAttentionCount: 0 });
    expect(stderr).toContain('test stripe: 1 refunds compared; no discrepancies.');
    expect(reports[0].actor).toMatch(/^cli:./);
  });

  test('exits with 3 when something needs attention, and the run can be listed and shown', async () => {
    const refund = await completedRefund(service, 'stripe');
    await endAtProcessor(service, refund, 'failed');
    expect((await run(...stripeTest)).code).toBe(0);
    expect((await workWhatIsDue(service, refund)).status).toBe('failed');
    await endAtProcessor(service, refund, 'succeeded');
    const { code, stdout, stderr } = await run(...stripeTest);
    expect(code).toBe(3);
    expect(stdout).toMatch(new RegExp(`^moved_after_end +resync_requested +${refund.id} +yes `, 'm'));
    expect(stderr).toMatch(/, 1 needs attention\.$/m);
    expect((await rowOf(service, refund.id)).resyncRequestedAt).not.toBeNull();
    await workWhatIsDue(service, refund);

    const id = /^id +(rec_\w+)$/m.exec(stdout)?.[1] ?? '';
    const shown = await admin(['reconciliation', 'show', id, '--json']);
    const found = JSON.parse(shown.stdout).findings.find(
      (each: { refundId: string }) => each.refundId === refund.id,
    );
    expect(found).toMatchObject({
      kind: 'moved_after_end',
      needsAttention: true,
      facts: { amount: 2_500, currency: 'usd' },
      summary: expect.stringContaining('25.00 USD'),
    });
    expect((await admin(['reconciliation', 'show', id])).stdout).toContain(found.summary);
    const listed = await admin(['reconciliation', 'list', '--organization', service.organization.id]);
    expect(listed.stdout).toMatch(new RegExp(`^${id} .* 1 needs attention$`, 'm'));
    expect((await admin(['refund', 'attention'])).stdout).toContain(refund.id);
  });

  test('compares nothing outside of the given window', async () => {
    const window = ['--from', '2020-01-01', '--to', '2020-01-02T12:00:00+02:00'];
    const { stdout } = await run(...stripeTest, ...window, '--json');
    expect(JSON.parse(stdout)).toMatchObject([
      { windowStart: '2020-01-01T00:00:00.000Z', windowEnd: '2020-01-02T10:00:00.000Z', comparedCount: 0 },
    ]);
  });

  test('exits with 1 and says why when the processor cannot be read', async () => {
    const limit = (rateLimits: object) =>
      service.deps.db.processorAccount.updateMany({ data: { rateLimits } });
    await limit(paused(new Date(Date.now() + 3_600_000), 'listRefunds'));
    const { code, stdout, stderr } = await run(...stripeTest);
    await limit({});
    expect(code).toBe(1);
    expect(stdout).toMatch(/^result +not finished: The processor asks for a pause of \d+ seconds/m);
    expect(stderr).toMatch(/^Reconciliation is incomplete\. Run it again\.$/m);
  });

  test.each([
    [2, ['--from', '2026-11-21T12:00:00']],
    [1, [...stripeTest, '--from', '2026-01-02', '--to', '2026-01-01']],
  ])('exits with %i for %j', async (code, args) => {
    const answer = await run(...args);
    expect(answer.code, answer.stderr).toBe(code);
    expect(answer.stdout).toBe('');
  });

  test('compares one account by its ID or name, also a connected one, and lists its runs', async () => {
    const connectedAccount = 'acct_compared';
    await newRefund(service, { connectedAccount }, { payment: { connectedAccount } });
    const name = `stripe/${connectedAccount}`;
    const { id } = await service.deps.db.processorAccount.findFirstOrThrow({ where: { name } });
    for (const account of [name, id]) {
      const { stdout } = await run('--account', account, '--json');
      expect(JSON.parse(stdout)).toMatchObject([{ accountId: id, failure: null }]);
    }
    const listed = await admin(['reconciliation', 'list', '--account', name, '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ accountId: id }, { accountId: id }]);
    expect((await run('--account', 'acc_other')).stderr).toContain('has no such processor account');
  });
});
