import { beforeAll, expect, test } from 'vitest';
import { readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import type { DashboardVisitor } from '../../support/dashboard/dashboard-visitor.ts';
import { reviewUpload, sealedIn, sendReviewed, uploadBatch } from '../../support/dashboard/upload-batch.ts';
import { advanceOneBatch } from '../../support/refunds/advance-one-batch.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let operator: DashboardVisitor;
let operatorId: string;
/** The path of the environment. */
let base: string;
beforeAll(async () => {
  ({ visitor: operator, userId: operatorId } = await signInMember(service, 'operator'));
  base = `/dashboard/${service.organization.id}/test`;
});

/** Advances batches until none is due. No refund is due to be sent meanwhile, because those would hold them up. */
async function workOff() {
  do {
    await service.deps.db.$executeRaw`UPDATE refund_work SET due_at = due_at + interval '1 day'`;
  } while (await advanceOneBatch(service.deps));
}

const upload = (file: string) => uploadBatch(operator, base, file);

/** The rows of a batch as they wait. */
async function waitingRows({ headers: { location } }: Awaited<ReturnType<typeof upload>>) {
  const batchId = String(location).split('/').at(-1) ?? '';
  const rows = await service.deps.db.refundBatchRow.findMany({
    where: { batchId },
    orderBy: { number: 'asc' },
  });
  return rows.map(({ content, errorMessage }) => content ?? errorMessage);
}

test('rows that are uploaded twice are one batch, and its refunds are requested by the user', async () => {
  const transactionId = await newPayment(service);
  const file = `transactionId,amountMinor,reason\n${transactionId},10000,other\nch_1,x,other`;
  const reviewed = await reviewUpload(operator, base, file);
  const first = await sendReviewed(operator, base, reviewed);
  expect([first.status, first.done]).toEqual([303, 'batch-created']);
  const path = String(first.headers.location);
  const again = await sendReviewed(operator, base, reviewed);
  expect([again.headers.location, again.done]).toEqual([path, 'batch-repeated']);
  await advanceOneBatch(service.deps);
  // Nothing is left to review by now.
  const uploaded = await reviewUpload(operator, base, file.replaceAll('\n', '\r\n'));
  expect([uploaded.headers.location, uploaded.done]).toEqual([path, 'batch-repeated']);
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
  expect(refund).toMatchObject({ initiatedBy: 'dashboard', amount: 10_000n });
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
  const rows = ['x', '1.00', '2.00'].map((amount) => `\n${transactionId},${amount},other`);
  const uploaded = await upload(`transactionId,amount,reason${rows.join('')}`);
  const [path = ''] = String(uploaded.headers.location).split('?');
  expect(await unseen()).toEqual([]);
  await workOff();
  const [failing] = await db.refund.findMany({ where: { transactionId } });
  const why = { failureCode: 'declined', failureMessage: 'Declined.' };
  const fail = (id = '') =>
    db.refund.update({ where: { id }, data: { status: 'failed', updatedAt: new Date(), ...why } });
  await fail(failing?.id);
  expect(await unseen()).toMatchObject([{ id: path.split('/').at(-1), rejectedCount: 1, failedCount: 1 }]);
  const overview = (await operator.get(base)).text;
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

test('an operator who uploads the file of a former operator again requests the rest, once', async () => {
  await workOff();
  const { visitor: leaving, userId } = await signInMember(service, 'operator');
  const transactionId = await newPayment(service);
  // More than one slice of rows, so that the first operator has requested some.
  const rows = Array.from({ length: 52 }, (_, n) => `\n${transactionId},${n + 1},other`);
  const file = `transactionId,amountMinor,reason${rows.join('')}`;
  await uploadBatch(leaving, base, file);
  await advanceOneBatch(service.deps);
  await service.deps.db.membership.updateMany({ where: { userId }, data: { role: 'viewer' } });
  await workOff();
  const again = await upload(file);
  expect(again.done).toBe('batch-created');
  await workOff();
  const requestedBy = (id: string) =>
    service.deps.db.refundEvent.count({ where: { seq: 1, actor: `user:${id}`, refund: { transactionId } } });
  const requested = [await requestedBy(userId), await requestedBy(operatorId)] as const;
  expect(Math.min(...requested)).toBeGreaterThan(0);
  expect(requested[0] + requested[1]).toBe(52);
});

test('a review shows what a file comes to and what it leaves out, and sends nothing', async () => {
  const [dollars, rest, refunded] = await Promise.all([1, 2, 3].map(() => newPayment(service)));
  const euros = await newPayment(service, { currency: 'eur' });
  await refundDirectly(service, { processor: 'stripe', transactionId: rest ?? '', amount: 3_000 });
  await refundDirectly(service, { processor: 'stripe', transactionId: refunded ?? '', amount: 10_000 });
  const { text } = await reviewUpload(
    operator,
    base,
    [
      'sep=;\r\ntransactionId;amount;currency;reason;metadata.city;;',
      ...[
        `${dollars};1.250,50;usd;other;Köln;;`,
        `${dollars};60,5;USD;other;;;`,
        `${dollars};40;usd;other;;;`,
      ],
      ...[`${rest};;usd;other;;;`, `${refunded};;usd;other;;;`, `${euros};12,30;eur;other;;;`],
      ...[`${euros};1;usd;other;;;`, 'ch_missing1;1;usd;other;;;', `${euros};abc;eur;other;;;`, ';;;;;;'],
    ].join('\r\n'),
  );
  const words = text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  expect(words).toContain('3 refunds, 130.50 USD and 12.30 EUR');
  expect(words).toContain('1 row refunds everything that is left.');
  expect(words).toContain('6 rows cannot be refunded.');
  for (const left of [
    `1 ${dollars} At most 100.00 USD is left to refund.`,
    `5 ${refunded} Nothing is left to refund.`,
    `7 ${euros} The payment is in EUR. Enter that currency.`,
  ])
    expect(words).toContain(left);
  expect(words).toContain('amount: Enter a number in decimals of the currency');
  expect(words).toContain(`4 ${rest} 70.00 USD Other`);
  expect(words).toContain('Create 3 test refunds');
  const known = { transactionId: { in: [dollars ?? '', rest ?? '', euros] } };
  expect(await service.deps.db.refundBatchRow.count({ where: known })).toBe(0);
});

test('what was shown is sent, although more or less is left by then', async () => {
  await workOff();
  const [less, more] = await Promise.all([newPayment(service), newPayment(service)]);
  const body = { transactionId: more, amount: 4_000, reason: 'other' };
  const { body: other } = await service.call('POST', '/v1/refunds', {
    body,
    headers: { prefer: 'respond-async' },
  });
  const file = `transactionId,amount,reason\n${less},,other\n${more},,other`;
  const reviewed = await reviewUpload(operator, base, file);
  await refundDirectly(service, { processor: 'stripe', transactionId: less, amount: 1_000 });
  await service.deps.db.payment.updateMany({ data: { fetchedAt: null } });
  await service.call('POST', `/v1/refunds/${other.data.id}/cancel`);
  const sent = await sendReviewed(operator, base, reviewed);
  expect(await waitingRows(sent)).toMatchObject([{ amount: 10_000 }, { amount: 6_000 }]);
  await workOff();
  const amounts = async (transactionId: string) =>
    (await service.deps.db.refund.findMany({ where: { transactionId, isLive: true } })).map(
      ({ amount }) => amount,
    );
  expect([await amounts(less), await amounts(more)]).toEqual([[], [6_000n]]);
  expect((await operator.get(String(sent.headers.location))).text).toContain(
    'must be at most 9000 (90.00 USD)',
  );
});

test('a file without decimals is asked about, and read as the answer says', async () => {
  const transactionId = await newPayment(service);
  const file = `transactionId,amount,reason\n${transactionId},42,other`;
  const asked = await reviewUpload(operator, base, file);
  expect(asked.text).toMatch(/value="major"[^>]*>42\.00 USD<.*value="minor"[^>]*>0\.42 USD</s);
  expect(asked.text).not.toContain('/batches/new/create');
  const answered = async (unit: string) =>
    await waitingRows(
      await sendReviewed(
        operator,
        base,
        await operator.post(`${base}/batches/new`, { upload: sealedIn(asked), unit }),
      ),
    );
  expect(await answered('minor')).toMatchObject([{ amount: 42 }]);
  expect(await answered('major')).toMatchObject([{ amount: 4_200 }]);
  const unasked = file.replace(',other', ',other,JPY').replace('reason', 'reason,currency');
  expect((await reviewUpload(operator, base, unasked)).text).not.toContain('value="minor"');
});

test('a review cannot be sent by another user, in another environment, or changed', async () => {
  const transactionId = await newPayment(service);
  const reviewed = await reviewUpload(
    operator,
    base,
    `transactionId,amount,reason\n${transactionId},1.00,other`,
  );
  const sealed = sealedIn(reviewed);
  const { visitor: other } = await signInMember(service, 'operator');
  const changed = { ...reviewed, text: reviewed.text.replace(sealed, `${sealed.slice(0, -4)}AAAA`) };
  for (const sent of [
    await sendReviewed(other, base, reviewed),
    await sendReviewed(operator, base.replace('/test', '/live'), reviewed),
    await sendReviewed(operator, base, changed),
  ]) {
    expect([sent.status, sent.text]).toEqual([400, expect.stringContaining('This review has expired.')]);
  }
  expect(await service.deps.db.refundBatchRow.count({ where: { transactionId } })).toBe(0);
});

test.each([
  ['that is no CSV of refunds', 'transactionId,amont,reason\nch_1,1,other', 'Unknown column'],
  ['without rows', 'transactionId,amount,reason\n,,', 'Has no rows.'],
  [
    'with a decimal comma between commas',
    'transactionId,amount,reason\nch_1,42,50,other',
    'Row 1 has 4 cells, but the header has 3.',
  ],
])('a file %s is refused at its field', async (_what, file, problem) => {
  const page = await reviewUpload(operator, base, file);
  expect(page.status).toBe(400);
  expect(page.text).toMatch(new RegExp(`id="file-problem">[^<]*${problem}`));
});

test('a file in Windows-1252 is read, and files that people download have a byte order mark', async () => {
  const transactionId = await newPayment(service);
  const file = `transactionId,amount,reason,metadata.city\n${transactionId},1.00,other,K\u00f6ln`;
  const form = new FormData();
  form.set('_csrf', operator.csrfToken);
  form.set('file', new Blob([Buffer.from(file, 'latin1')]), 'refunds.csv');
  const { headers, payload } = await multipart(form);
  const page = await service.app.inject({
    ...{ method: 'POST', url: `${base}/batches/new`, payload },
    headers: { ...headers, cookie: operator.cookie, 'sec-fetch-site': 'same-origin' },
  });
  expect(page.body).toContain('Köln');
  const sent = await upload(file);
  for (const path of [
    `${sent.headers.location}/results`,
    `${base}/refunds/export`,
    `${base}/batches/new/template`,
  ])
    expect((await operator.get(path)).text, path).toMatch(/^\uFEFF\w/);
});

async function multipart(form: FormData) {
  const request = new Request('http://dashboard', { method: 'POST', body: form });
  return {
    headers: Object.fromEntries(request.headers),
    payload: Buffer.from(await request.arrayBuffer()),
  };
}
