import { beforeAll, expect, test } from 'vitest';
import { readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import type { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { advanceOneBatch } from '../../support/refunds/advance-one-batch.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let operator: DashboardVisitor;
let operatorId: string;
let base: string;
beforeAll(async () => {
  ({ visitor: operator, userId: operatorId } = await signInMember(service, 'operator'));
  base = `/dashboard/${service.organization.id}/test/batches`;
  await operator.get(base);
});

/** Advances batches until none is due. No refund is due to be sent meanwhile, because those would hold them up. */
async function workOff() {
  do {
    await service.deps.db.$executeRaw`UPDATE refund_work SET due_at = due_at + interval '1 day'`;
  } while (await advanceOneBatch(service.deps));
}

test('rows that are uploaded twice are one batch, and its refunds are requested by the user', async () => {
  const transactionId = await newPayment(service);
  const form = {
    mode: 'partial',
    file: `transactionId,amount,reason\n${transactionId},100,other\nch_1,x,other`,
  };
  const first = await operator.post(base, form);
  expect([first.status, first.done]).toEqual([303, 'batch-created']);
  const path = String(first.headers.location);
  const again = await operator.post(base, form);
  expect([again.headers.location, again.done]).toEqual([path, 'batch-repeated']);
  const inWindows = await operator.post(base, { ...form, file: form.file.replaceAll('\n', '\r\n') });
  expect([inWindows.headers.location, inWindows.done]).toEqual([path, 'batch-repeated']);
  const strict = { mode: 'strict', file: form.file.split('\n').slice(0, 2).join('\n') };
  const all = await operator.post(base, { ...strict, mode: 'partial' });
  expect(all.status).toBe(303);
  expect((await operator.post(base, strict)).headers.location).toBe(
    all.headers.location?.replace('batch-created', 'batch-repeated'),
  );
  await advanceOneBatch(service.deps);
  const page = await operator.get(path);
  expect(page.text).toContain('amount: must be a positive whole number');
  const [, list = ''] = /href="([^"]*refunds\?q=[^"&]*)"/.exec(page.text) ?? [];
  expect((await operator.get(list)).text.match(/row-link/g)).toHaveLength(1);
  const part = await operator.get(path, { 'hx-request': 'true' });
  expect(part.text).toMatch(/^<div id="batch"/);
  const [refund] = await service.deps.db.refund.findMany({
    where: { transactionId },
    include: { events: true },
  });
  expect(refund).toMatchObject({ initiatedBy: 'dashboard', amount: 100n });
  expect(refund?.events[0]?.actor).toMatch(/^user:/);
  expect((await operator.get(`${path}/results`)).text).toContain(refund?.id);
});

test('a finished batch with rows that were rejected or failed needs attention until it is dismissed', async () => {
  const { db } = service.deps;
  await db.refundBatch.updateMany({ data: { seenAt: new Date() } });
  const unseen = async () =>
    (await readNeedsAttention(db, { organizationId: service.organization.id, environment: 'test' }))
      .unseenBatches;
  const transactionId = await newPayment(service);
  const rows = ['x', '100', '200'].map((amount) => `\n${transactionId},${amount},other`);
  const form = { mode: 'partial', file: `transactionId,amount,reason${rows.join('')}` };
  const uploaded = await operator.post(base, form);
  const [path = ''] = String(uploaded.headers.location).split('?');
  expect(await unseen()).toEqual([]);
  await workOff();
  const [failing] = await db.refund.findMany({ where: { transactionId } });
  const why = { failureCode: 'declined', failureMessage: 'Declined.' };
  const fail = (id = '') =>
    db.refund.update({ where: { id }, data: { status: 'failed', updatedAt: new Date(), ...why } });
  await fail(failing?.id);
  expect(await unseen()).toMatchObject([{ id: path.split('/').at(-1), rejectedCount: 1, failedCount: 1 }]);
  const overview = (await operator.get(base.replace('/batches', ''))).text;
  expect(overview).toContain('A refund batch finished with errors');
  expect(overview).toContain('1 row rejected, 1 row failed');
  expect((await operator.get(path)).text).toContain(`${path}/dismiss`);
  expect((await operator.post(`${path}/dismiss`)).status).toBe(303);
  expect(await unseen()).toEqual([]);
  // What fails later is news.
  const [later] = await db.refund.findMany({ where: { transactionId, status: 'processing' } });
  await fail(later?.id);
  expect(await unseen()).toMatchObject([{ rejectedCount: 0, failedCount: 1 }]);
});

test('an invalid file is refused with its rows, and nothing is stored', async () => {
  const page = await operator.post(base, {
    mode: 'strict',
    file: 'transactionId,amount,reason\nch_2,x,other',
  });
  expect([page.status, page.text]).toEqual([400, expect.stringContaining('Row 1: amount: must be')]);
  expect(await service.deps.db.refundBatchRow.count({ where: { transactionId: 'ch_2' } })).toBe(0);
});

test('an operator who uploads the file of a former operator again requests the rest, once', async () => {
  await workOff();
  const { visitor: leaving, userId } = await signInMember(service, 'operator');
  const transactionId = await newPayment(service);
  // More than one slice of rows, so that the first operator has requested some.
  const rows = Array.from({ length: 52 }, (_, n) => `\n${transactionId},${n + 1},other`);
  const form = { mode: 'strict', file: `transactionId,amount,reason${rows.join('')}` };
  await leaving.get(base);
  await operator.get(base);
  await leaving.post(base, form);
  await advanceOneBatch(service.deps);
  await service.deps.db.membership.updateMany({ where: { userId }, data: { role: 'viewer' } });
  await workOff();
  const again = await operator.post(base, form);
  expect(again.done).toBe('batch-created');
  await workOff();
  const requestedBy = (id: string) =>
    service.deps.db.refundEvent.count({ where: { seq: 1, actor: `user:${id}`, refund: { transactionId } } });
  const requested = [await requestedBy(userId), await requestedBy(operatorId)] as const;
  expect(Math.min(...requested)).toBeGreaterThan(0);
  expect(requested[0] + requested[1]).toBe(52);
});
