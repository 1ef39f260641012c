import { beforeAll, expect, test } from 'vitest';
import { findAccount } from '#shared/processors/accounts/account.ts';
import { reconcileAsRequested } from '#worker/schedule/reconcile.ts';
import { systemClock } from '../../support/clocks.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { statementsOfPages } from '../../support/dashboard/page-statements.ts';
import { completedRefund } from '../../support/refunds/flagged-refunds.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, overrides: { clock: systemClock } });
let operator: DashboardMember;
let base: string;
beforeAll(async () => {
  operator = await signInMember(service, 'operator');
  base = `/dashboard/${service.organization.id}/test/reconciliation`;
});

test('an operator requests a run of a worker, whose findings lead to their refunds, in its organization and environment alone', async () => {
  const { db } = service.deps;
  const { id } = await completedRefund(service, 'stripe');
  await db.refund.update({ where: { id }, data: { externalRefundId: 're_missing' } });
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const account = await findAccount(db, { ...owner, processor: 'stripe' });
  const asked = await operator.visitor.post(base, { account: account.id });
  expect([asked.status, asked.done]).toEqual([303, 'reconciliation-started']);
  expect((await operator.visitor.post(base, { account: account.id })).status).toBe(303);
  const waiting = (await operator.visitor.get(base)).text;
  expect(waiting).toContain('Waiting for a worker');
  expect(waiting).toContain('hx-trigger="every 4s"');
  await reconcileAsRequested(service.deps, new AbortController().signal);
  const where = { actor: `user:${operator.userId}` };
  const [run, ...more] = await db.reconciliationRun.findMany({ where });
  if (run === undefined) throw new Error('No run was requested');
  expect([more, run.failure, run.finishedAt]).toEqual([[], null, expect.any(Date)]);
  const list = await operator.visitor.get(base);
  expect(list.text).toContain(`${base}/${run.id}`);
  expect(list.text).toContain(operator.email);
  expect(list.text).not.toContain('hx-trigger="every 4s"');
  const page = await operator.visitor.get(`${base}/${run.id}`);
  expect(page.text).toContain(`/test/refunds/${id}"`);
  expect(page.text).toContain('>Needs attention</span>');

  const live = base.replace('/test/', '/live/');
  expect((await operator.visitor.get(`${live}/${run.id}`)).status).toBe(404);
  expect((await operator.visitor.get(live)).text).not.toContain(run.id);
  expect((await operator.visitor.post(live, { account: account.id })).status).toBe(404);
  const other = await service.addOrganization('Others');
  const others = await signInMember(service, 'operator', other.id);
  expect((await others.visitor.get(`/dashboard/${other.id}/test/reconciliation/${run.id}`)).status).toBe(404);

  const costs = () => statementsOfPages(service, operator.visitor, [base, `${base}/${run.id}`]);
  const before = await costs();
  const [finding] = await db.reconciliationFinding.findMany({ where: { runId: run.id }, omit: { id: true } });
  const copies = Array.from({ length: 10 }, (_, at) => at);
  await db.reconciliationRun.createMany({ data: copies.map((at) => ({ ...run, id: `${run.id}${at}` })) });
  await db.reconciliationFinding.createMany({
    data: copies.map((at) => ({ ...finding, id: `${run.id}_${at}`, facts: {} }) as never),
  });
  expect(await costs()).toEqual(before);
});
