import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '#test/sandbox/processors.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import type { Page } from '#test/support/dashboard/dashboard-visitor.ts';
import { type SentField, sentForm } from '#test/support/dashboard/sent-form.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { refundDirectly } from '#test/support/refunds/refund-directly.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
let operator: DashboardMember;
let base: string;
let url: string;

beforeAll(async () => {
  operator = await signInMember(service, 'operator');
  base = `/dashboard/${service.organization.id}/test`;
  url = `${base}/refunds/new`;
});
beforeEach(() => storePolicies(service, {}));
afterEach(() => service.sandbox.clearFaults());
afterAll(() => expectInvariants(service));

type Fields = Record<string, string>;

const refundOf = (transactionId: string, more: Fields = {}): Fields => ({
  ...{ transactionId, amount: '12.50', currency: 'usd', reason: 'other', metadata: '' },
  ...more,
});

const formKeyOf = ({ text }: Page) => /name="formKey" value="([^"]+)"/.exec(text)?.[1] ?? '';

/** Submits a new form for review. */
async function review(fields: Fields): Promise<Page> {
  const formKey = formKeyOf(await operator.visitor.get(url));
  return await operator.visitor.post(url, { ...fields, formKey, step: 'check' });
}

async function confirm(fields: Fields, checked: Page): Promise<Page> {
  return await operator.visitor.post(url, { ...fields, formKey: formKeyOf(checked), step: 'confirm' });
}

/** A form with other values of its metadata, by key; those of new keys are entered in its free rows. */
function withMetadata(form: readonly SentField[], values: Fields): SentField[] {
  const open = new Map(Object.entries(values));
  let key = '';
  return form.map(([name, value]): SentField => {
    if (name === 'metadataKey') {
      const [next = ''] = [...open.keys()].filter((each) => !form.some(([, other]) => other === each));
      key = value === '' ? next : value;
      return [name, key];
    }
    if (name !== 'metadataValue' || !open.has(key)) return [name, value];
    const entered = open.get(key) ?? '';
    open.delete(key);
    return [name, entered];
  });
}

const refundsOf = async (transactionId: string) =>
  await service.deps.db.refund.findMany({ where: { transactionId } });

test('creates a refund in two steps, of which the first changes nothing', async () => {
  const transactionId = await newPayment(service);
  const fields = refundOf(` ${transactionId} `, { metadata: '{"ticket": "T-1001"}' });
  const reviewed = await review(fields);
  expect(reviewed.status).toBe(200);
  for (const words of ['Review refund', 'Allowed by policy', '12.50 USD', '100.00 USD', 'T-1001']) {
    expect(reviewed.text).toContain(words);
  }
  expect(await refundsOf(transactionId)).toEqual([]);
  const answer = await confirm(fields, reviewed);
  const [refund] = await refundsOf(transactionId);
  const id = refund?.id ?? '';
  expect(answer).toMatchObject({
    status: 303,
    headers: { location: `${base}/refunds/${id}` },
    done: 'created',
  });
  expect(refund).toMatchObject({
    ...{ amount: 1_250n, currency: 'usd', reason: 'other', status: 'processing', initiatedBy: 'dashboard' },
    ...{ apiKeyId: null, metadata: { ticket: 'T-1001' }, environment: 'test' },
  });
  const actor = `user:${operator.userId}`;
  expect(await service.deps.db.refundEvent.findMany({ where: { refundId: id } })).toMatchObject([
    { type: 'refund.created', actor },
  ]);
  expect(await auditOf(service, id)).toMatchObject([
    { action: 'refund.created', actor, detail: { amount: 1_250, currency: 'usd' } },
  ]);
  const { text } = await operator.visitor.get(`${base}/refunds?q=${id}`);
  expect(text).toContain(`Dashboard, ${operator.email}`);
});

test.each([
  ['processing', 4_000, '60.00'],
  ['cancelled', 4_000, '40.00'],
] as const)('repeats a %s refund of %d with all its fields, and offers %s', async (status, amount, shown) => {
  const transactionId = await newPayment(service);
  const metadata = { ticket: 'T-7', seats: [3] };
  const body = { transactionId, amount, reason: 'wrong_product', metadata };
  const { body: made } = await service.call('POST', '/v1/refunds', {
    ...{ body, headers: { prefer: 'respond-async' } },
  });
  if (status === 'cancelled') await service.call('POST', `/v1/refunds/${made.data.id}/cancel`);
  const page = await operator.visitor.get(`${base}/refunds/${made.data.id}`);
  expect(page.text).toContain(`/refunds/new?again=${made.data.id}"`);
  const { text } = await operator.visitor.get(`${url}?again=${made.data.id}`);
  const field = (name: string) => new RegExp(`id="${name}"[^>]* value(?:="([^"]*)")?`).exec(text)?.[1] ?? '';
  expect([field('transactionId'), field('amount')]).toEqual([transactionId, shown]);
  expect(text).toMatch(/<option value="wrong_product" selected|<option selected value="wrong_product"/);
  const form = sentForm(text, /refunds\/new/);
  expect(form).toContainEqual(['metadataValue', 'T-7']);
  const reviewed = await operator.visitor.post(url, form);
  await operator.visitor.post(url, [...sentForm(reviewed.text, /refunds\/new/), ['step', 'confirm']]);
  const repeated = (await refundsOf(transactionId)).find(({ id }) => id !== made.data.id);
  expect(repeated?.metadata).toEqual(metadata);
});

test('a refund has what is entered for the columns of the organization and in rows, and keeps the rest as it is', async () => {
  const { id } = service.organization;
  const refundColumns = ['store', 'ticket'];
  await service.deps.db.organization.update({ where: { id }, data: { refundColumns } });
  onTestFinished(async () => {
    await service.deps.db.organization.update({ where: { id }, data: { refundColumns: [] } });
  });
  const kept = { ticket: 4711, blank: '', seats: [3], note: 'old', paid: true, 'lines ': 'a\nb' };
  const transactionId = await newPayment(service);
  const known = new URLSearchParams({ ...refundOf(transactionId), metadata: JSON.stringify(kept) });
  const { text } = await operator.visitor.get(`${url}?${known}`);
  expect(text).toContain('Not changed here: seats, lines ');
  const rows = { store: 'Bern', note: '', paid: 'false', order_id: ' SO-7 ' };
  const form = withMetadata(sentForm(text, /refunds\/new/), rows);
  const reviewed = await operator.visitor.post(url, form);
  await operator.visitor.post(url, [...sentForm(reviewed.text, /refunds\/new/), ['step', 'confirm']]);
  const [refund] = await refundsOf(transactionId);
  const { ticket, blank, seats, 'lines ': lines } = kept;
  const entered = { store: 'Bern', paid: 'false', order_id: 'SO-7' };
  expect(refund?.metadata).toEqual({ ticket, blank, seats, 'lines ': lines, ...entered });
});

test.each([
  ['a value without a name', [['', 'x']], 'Enter a name for each value.'],
  [
    'a name that is entered twice',
    [
      ['a', 'x'],
      ['a', 'y'],
    ],
    'Enter the name a only once.',
  ],
  ['a name of an earlier field without a value', [['ticket', '']], 'Enter the name ticket only once.'],
  ['a name of a field that is empty', [['order_id', 'x']], 'Enter the name order_id only once.'],
  ['a name of a list that is kept', [['seats', 'x']], 'The value of seats is not changed here.'],
  ['a name that is too long', [['k'.repeat(41), 'x']], 'Keys must have 1 to 40 characters.'],
] as const)('shows %s as a problem of the metadata, and keeps the rows', async (_what, rows, problem) => {
  const earlier = new URLSearchParams({ metadata: '{"ticket": "T-1", "seats": [3]}' });
  const form = sentForm((await operator.visitor.get(`${url}?${earlier}`)).text, /refunds\/new/);
  const pairs = rows.flatMap(([key, value]): SentField[] => [
    ['metadataKey', key],
    ['metadataValue', value],
  ]);
  const { metadata: _, ...known } = refundOf(await newPayment(service));
  const own = form.filter(([name]) => !(name in known));
  const page = await operator.visitor.post(url, [...own, ...Object.entries(known), ...pairs]);
  expect(page.status).toBe(400);
  expect(page.text).toContain(problem);
  expect(sentForm(page.text, /refunds\/new/)).toEqual(
    expect.arrayContaining([...pairs, ['metadataValue', 'T-1']]),
  );
});

describe('a form', () => {
  test('creates one refund however often it is submitted', async () => {
    const transactionId = await newPayment(service);
    const fields = refundOf(transactionId);
    const reviewed = await review(fields);
    const answers = [await confirm(fields, reviewed), await confirm(fields, reviewed)];
    const [refund, ...others] = await refundsOf(transactionId);
    expect(others).toEqual([]);
    for (const { status, headers, done } of answers) {
      expect([status, headers.location, done]).toEqual([303, `${base}/refunds/${refund?.id}`, 'created']);
    }
    expect(await auditOf(service, refund?.id ?? '')).toHaveLength(1);
  });

  test('creates nothing when it is submitted again with another amount', async () => {
    const transactionId = await newPayment(service);
    const fields = refundOf(transactionId);
    const reviewed = await review(fields);
    await confirm(fields, reviewed);
    const other = await confirm({ ...fields, amount: '20' }, reviewed);
    expect(other.status).toBe(400);
    expect(other.text).toContain('This form was already submitted with different values.');
    expect(formKeyOf(other)).not.toBe(formKeyOf(reviewed));
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('of another user with the same key creates another refund', async () => {
    const transactionId = await newPayment(service);
    const fields = refundOf(transactionId);
    const reviewed = await review(fields);
    await confirm(fields, reviewed);
    const other = await signInMember(service, 'operator');
    await other.visitor.get(url);
    await other.visitor.post(url, { ...fields, formKey: formKeyOf(reviewed), step: 'confirm' });
    expect(await refundsOf(transactionId)).toHaveLength(2);
  });

  test('keeps its values and key when the user goes back to edit', async () => {
    const fields = refundOf(await newPayment(service));
    const formKey = formKeyOf(await review(fields));
    const page = await operator.visitor.post(url, { ...fields, formKey, step: 'change' });
    expect(page.text).toContain('value="12.50"');
    expect(formKeyOf(page)).toBe(formKey);
  });

  test('is filled in from query parameters', async () => {
    const { text } = await operator.visitor.get(`${url}?transactionId=ch_1&currency=eur&processor=stripe`);
    expect(text).toContain('value="ch_1"');
    expect(text).toMatch(/value="eur" selected|selected value="eur"/);
  });
});

describe('the review of a refund', () => {
  test.each([
    ['requires approval', { approvalAbove: { dashboard: 1_000 } }, /approval|approve it/],
    ['is denied but not blocked', { finalSale: true }, /Denied by policy, not blocked\./],
  ])('that %s says so, and offers to create it', async (_what, rules, words) => {
    await storePolicies(service, rules);
    const { text } = await review(refundOf(await newPayment(service)));
    expect(text).toMatch(words);
    expect(text).toContain('value="confirm"');
  });

  test('that a policy denies does not offer to create it, and a form that skips the review shows why', async () => {
    await storePolicies(service, { finalSale: true, enforce: { api: false, dashboard: true } });
    const transactionId = await newPayment(service);
    const fields = refundOf(transactionId);
    const reviewed = await review(fields);
    expect(reviewed.text).toContain('Denied by policy');
    expect(reviewed.text).not.toContain('value="confirm"');
    const answer = await confirm(fields, reviewed);
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/role="alert">This payment was a final sale/);
    expect(answer.text).toContain(`value="${transactionId}"`);
    expect(formKeyOf(answer)).not.toBe(formKeyOf(reviewed));
  });
});

const problemAt = (field: string) => new RegExp(`id="${field}-problem">`);

test.each<readonly [field: string, value: string]>([
  ...['', 'ch 1', 'ch_missing1'].map((value) => ['transactionId', value] as const),
  ...['', '1,234', '0', '100.01', '1'.repeat(30)].map((value) => ['amount', value] as const),
  ...['xyz', 'eur'].map((value) => ['currency', value] as const),
  ['reason', 'because'],
  ['processor', 'paypal'],
  ...['{"a": 1', '["a"]', '{"a": 1, "a": 2}', '{"a": 12345678901234567890}', '{"a": "\\u0000"}'].map(
    (value) => ['metadata', value] as const,
  ),
])('shows a problem at %s when it is %j, and keeps the entry', async (field, value) => {
  const transactionId = await newPayment(service);
  const hostile = { metadata: '{"note": "</textarea><script>alert(1)</script>"}' };
  const page = await review(refundOf(transactionId, { ...hostile, [field]: value }));
  expect(page.status).toBe(400);
  expect(page.text).toMatch(problemAt(field));
  expect(page.text).not.toContain('<script>alert');
  if (field !== 'amount') expect(page.text).toContain('value="12.50"');
  expect(await refundsOf(transactionId)).toEqual([]);
});

test('does not repeat a client secret that was entered as the payment', async () => {
  const page = await review(refundOf('pi_3abc_secret_9xyz'));
  expect(page.status).toBe(400);
  expect(page.text).toMatch(problemAt('transactionId'));
  expect(page.text).toContain('This is a client secret, not a payment ID. Enter the part before _secret_.');
  expect(page.text).not.toContain('9xyz');
});

test('refuses a payment that the processor does not refund', async () => {
  const page = await review(refundOf(await newPayment(service, { status: 'disputed' })));
  expect(page.text).toMatch(problemAt('transactionId'));
  expect(page.text).toContain('The payment was charged back');
});

test('refuses a payment that was refunded elsewhere after the review', async () => {
  const transactionId = await newPayment(service);
  const fields = refundOf(transactionId, { amount: '100' });
  const reviewed = await review(fields);
  await refundDirectly(service, { processor: 'stripe', transactionId, amount: 10_000 });
  await service.deps.db.payment.updateMany({
    where: { names: { some: { name: transactionId } } },
    data: { fetchedAt: null },
  });
  const answer = await confirm(fields, reviewed);
  expect(answer.status).toBe(400);
  expect(answer.text).toMatch(/role="alert">The payment has already been refunded in full/);
  expect((await review(fields)).text).toContain('has already been refunded in full');
});

describe('while the processor does not answer', () => {
  beforeEach(() =>
    service.sandbox.fault({ processor: 'stripe', operation: 'transaction.get', kind: 'reset', times: 20 }),
  );

  test('creates what the API would accept, without the payment', async () => {
    const transactionId = await newPayment(service);
    const fields = refundOf(transactionId);
    const reviewed = await review(fields);
    expect(reviewed.status).toBe(200);
    expect(reviewed.text).toContain('The payment could not be read.');
    expect((await confirm(fields, reviewed)).status).toBe(303);
    expect(await refundsOf(transactionId)).toMatchObject([{ amount: 1_250n, status: 'processing' }]);
  });

  test('shows the refusal of the API where a policy needs the payment', async () => {
    await storePolicies(service, { windowDays: 30, enforce: { api: true, dashboard: true } });
    const page = await review(refundOf(await newPayment(service)));
    expect(page.status).toBe(400);
    expect(page.text).toMatch(/role="alert">The payment cannot be read at its processor now/);
    expect(page.text).not.toContain('value="confirm"');
  });
});

test('creates in the environment of the address', async () => {
  const transactionId = await newPayment(service);
  const fields = { ...refundOf(transactionId), step: 'confirm' };
  expect((await operator.visitor.post(url.replace('/test/', '/live/'), fields)).status).toBe(303);
  expect(await refundsOf(transactionId)).toMatchObject([{ environment: 'live' }]);
});

describe('a payment with a transfer and an application fee', () => {
  const seller = 'acct_seller1';
  const destinationCharge = () => newPayment(service, { transferTo: seller, applicationFee: 1_000 });

  test('offers who pays and whether the fee goes back, and the refund has what was chosen', async () => {
    const transactionId = await destinationCharge();
    const fields = refundOf(transactionId);
    const reviewed = await review(fields);
    for (const words of [
      'Paid by',
      `${seller}, in proportion`,
      'The platform keeps it',
      `<code>${seller}</code>`,
    ])
      expect(reviewed.text).toContain(words);
    const chosen = { reverseTransfer: 'true', refundApplicationFee: 'true' };
    const created = await confirm({ ...fields, ...chosen }, reviewed);
    const [refund] = await refundsOf(transactionId);
    expect(refund?.options).toEqual({ reverseTransfer: true, refundApplicationFee: true });
    const page = (await operator.visitor.get(String(created.headers.location))).text.replaceAll(
      /<[^>]*>/g,
      '',
    );
    expect(page).toContain(`Up to 12.50 USD come back from ${seller}`);
    expect(page).toContain('Refunded in proportion');
  });

  test('says of a refund without options that the platform pays it', async () => {
    const transactionId = await destinationCharge();
    const fields = refundOf(transactionId);
    const created = await confirm({ ...fields, reverseTransfer: '' }, await review(fields));
    expect((await refundsOf(transactionId))[0]?.options).toBeNull();
    expect((await operator.visitor.get(String(created.headers.location))).text).toContain(
      'The platform pays this refund',
    );
    expect((await review(refundOf(await newPayment(service)))).text).not.toContain('Paid by');
  });

  test('is described on its page', async () => {
    const page = async (id: string) => (await operator.visitor.get(`${base}/payments/${id}`)).text;
    const described = await page(await destinationCharge());
    for (const words of ['To a connected account', 'Taken by the platform'])
      expect(described).toContain(words);
    expect(await page(await newPayment(service))).not.toMatch(/Transfer<|Application fee</);
  });
});

describe('where a processor has several accounts', () => {
  test('the form and the filter of the list offer them by name, and the refund is of the chosen one', async () => {
    const place = {
      organizationId: service.organization.id,
      environment: 'test',
      processor: 'stripe',
    } as const;
    const options = (text: string) =>
      [...(/<select id="account".*?<\/select>/s.exec(text)?.[0] ?? '').matchAll(/>([^<]+)<\/option>/g)].map(
        ([, words]) => words,
      );
    expect(options((await operator.visitor.get(url)).text)).toEqual([]);
    const credentials = sandboxCredentials('test', service.sandboxUrl).stripe;
    const { id } = await setProcessorAccount(service.deps, {
      ...place,
      name: 'shop-eu',
      credentials,
      actor: 'test',
    });
    const names = expect.arrayContaining(['Stripe', 'shop-eu (Stripe)']);
    expect(options((await operator.visitor.get(url)).text)).toEqual(names);
    expect(options((await operator.visitor.get(`${base}/refunds`)).text)).toEqual(names);
    const transactionId = await newPayment(service);
    const fields = refundOf(transactionId, { account: id });
    await confirm(fields, await review(fields));
    const [refund] = await refundsOf(transactionId);
    expect(refund?.accountId).toBe(id);
    const listed = await operator.visitor.get(`${base}/refunds?account=${id}`);
    expect(listed.text).toContain(refund?.id);
    expect((await operator.visitor.get(`${base}/refunds?account=stripe`)).text).not.toContain(refund?.id);
  });
});
