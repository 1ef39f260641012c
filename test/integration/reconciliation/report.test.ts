import { beforeAll, expect, test } from 'vitest';
import { sentWithin } from '#shared/reconciliation/our-refunds.ts';
import { readReport } from '#shared/reconciliation/report.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { parseCsv } from '../../support/http/csv.ts';
import { reconcile } from '../../support/processors/reconciliation.ts';
import { completedRefund, createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const window = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 3_600_000) };

beforeAll(async () => {
  for (const processor of ['stripe', 'stripe', 'braintree'] as const)
    await completedRefund(service, processor);
  const late = await completedRefund(service, 'stripe');
  await service.deps.db.refund.update({
    where: { id: late.id },
    data: { createdAt: new Date(window.from.getTime() - 7 * 86_400_000) },
  });
  // Never accepted.
  await createdRefund(service, 'stripe');
});

test('the report has to the cent what reconciliation compares and the processors list', async () => {
  const owner = { organizationId: service.organization.id, environment: 'test' as const };
  const rows = await readReport(service.deps.db, owner, window);
  expect(rows.map(({ processor, sent }) => [processor, sent.count])).toEqual([
    ['braintree', 1],
    ['stripe', 3],
  ]);
  const accounts = await service.deps.db.processorAccount.findMany({ where: owner });
  for (const { processor, account, currency, sent, completed, processing } of rows) {
    const compared: bigint[] = [];
    const found = accounts.find((each) => each.processor === processor && each.name === account);
    if (found === undefined) throw new Error('no account');
    for await (const batch of sentWithin(service.deps.db, found, window)) {
      compared.push(...batch.filter((each) => each.currency === currency).map(({ amount }) => amount));
    }
    const sum = compared.reduce((total, amount) => total + amount, 0n);
    expect(sent).toEqual({ count: compared.length, amount: sum });
    expect(completed.amount + processing.amount).toBe(sent.amount);
    const { run, findings } = await reconcile(service, processor as 'stripe', { window });
    expect([run.comparedCount, findings]).toEqual([sent.count, []]);
  }
});

test('members export the same report of their days as CSV', async () => {
  const { visitor } = await signInMember(service, 'viewer');
  const at = `/dashboard/${service.organization.id}/test/refunds/report`;
  // Two of them around midnight.
  const [from, until] = [window.from, window.to].map((time) => time.toISOString().slice(0, 10));
  const { text } = await visitor.get(`${at}?from=${from}&to=${until}`);
  const [, to = ''] = /href="([^"]+report\/export[^"]+)"/.exec(text) ?? [];
  const file = await visitor.get(to.replaceAll('&amp;', '&'));
  const [header, ...lines] = parseCsv(file.text.replace('\uFEFF', ''));
  expect(header?.slice(0, 5)).toEqual(['currency', 'processor', 'account', 'sentCount', 'sentAmount']);
  expect(lines.map((line) => line.slice(0, 5))).toEqual([
    ['usd', 'braintree', 'braintree', '1', '25.00'],
    ['usd', 'stripe', 'stripe', '3', '75.00'],
  ]);
  expect(text).toContain('75.00 USD');
  expect((await visitor.get(`${at}?from=2026-02-01&to=2026-01-01`)).text).toContain(
    'Must not be before the start date.',
  );
});
