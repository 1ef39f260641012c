import { beforeAll, describe, expect, test } from 'vitest';
import { toDecimal } from '#shared/money/money.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { serviceTexts } from '#shared/refunds/model/customer-texts.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { fillWithRefunds } from '#test/support/dashboard/dashboard-stage.ts';
import { hiddenField } from '#test/support/dashboard/second-factor.ts';
import { createdRefund } from '#test/support/refunds/flagged-refunds.ts';
import { lengthenTimeline } from '#test/support/refunds/long-timeline.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { unknownRefundId } from '#test/support/refunds/refund-records.ts';
import { endWork, flagByHand } from '#test/support/refunds/refund-work.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
let viewer: DashboardMember;
let base: string;
const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)>';

beforeAll(async () => {
  viewer = await signInMember(service, 'viewer');
  base = `/dashboard/${service.organization.id}/test`;
});

const get = async (path: string) => await viewer.visitor.get(`${base}/refunds${path}`);
const addEvent = (refundId: string, seq: number, type: string, status: 'failed' | 'processing' = 'failed') =>
  service.deps.db.refundEvent.create({
    data: {
      ...{ id: `evt_${seq}_${refundId}`, refundId, seq, type, actor: 'worker' },
      ...{ status, detail: {}, createdAt: new Date(Date.UTC(2026, 10, 20, 10, seq)) },
    },
  });
const part = async (url: string) => await viewer.visitor.get(url, { 'hx-request': 'true' });

/** The ids of the refunds that a page lists, in their order. */
function listed(text: string): string[] {
  return [...text.matchAll(/id="row-(ref_\w+)"/g)].map(([, id = '']) => id);
}

async function end(id: string, status: 'completed' | 'failed', failureCode = 'declined') {
  const change = status === 'failed' ? { failureCode } : { externalRefundId: `re_${id}` };
  await service.deps.db.refund.update({ where: { id }, data: { status, ...change } });
  await endWork(service, id);
}

test.each([
  ['operator', true],
  ['viewer', false],
] as const)(
  'leads a %s of an empty list to the first steps, and to the form if allowed',
  async (role, mayCreate) => {
    const { visitor } = await signInMember(service, role);
    const { text } = await visitor.get(`/dashboard/${service.organization.id}/live/refunds`);
    expect(text).toContain('No live refunds yet');
    expect(text).toContain('See the first steps');
    expect(text.includes('/live/refunds/new"')).toBe(mayCreate);
  },
);

describe('the list', () => {
  test('shows refunds newest first, with their requester', async () => {
    const older = await createdRefund(service, 'stripe');
    const newer = await createdRefund(service, 'braintree');
    const { text } = await get('');
    expect(listed(text).slice(0, 2)).toEqual([newer.id, older.id]);
    expect(text).toContain('25.00 USD');
    expect(text).toContain(`title="${older.transactionId}">ch_…${older.transactionId.slice(-8)}<`);
    expect(text).toContain(`title="API, key ...${service.organization.keys.test.plaintext.slice(-4)}`);
  });

  test('searches by ID and combines filters', async () => {
    const refund = await createdRefund(service, 'braintree');
    const other = await createdRefund(service, 'stripe');
    await end(other.id, 'failed');
    await flagByHand(service, refund.id);
    const day = refund.createdAt.toISOString().slice(0, 10);
    const [less, exactly, more] = [-1n, 0n, 1n].map((by) => toDecimal(refund.amount + by, 'usd'));
    const own = `q=${refund.id}`;
    for (const [query, expected] of [
      [own, [refund.id]],
      [`q=+${refund.transactionId}+`, [refund.id]],
      ['status=failed&status=cancelled', [other.id]],
      [`${own}&processor=braintree&from=${day}&to=${day}`, [refund.id]],
      [`${own}&processor=stripe`, []],
      [`${own}&initiatedBy=dashboard`, []],
      [`${own}&requestedBy=key:${refund.apiKeyId}`, [refund.id]],
      [`${own}&requestedBy=user:usr_1`, []],
      [`${own}&reason=other&currency=usd`, [refund.id]],
      [`${own}&currency=eur`, []],
      ['to=2020-01-01', []],
      [`${own}&currency=usd&amountFrom=${exactly}&amountTo=${exactly}`, [refund.id]],
      [`${own}&currency=usd&amountFrom=${more}`, []],
      [`${own}&currency=usd&amountTo=${less}`, []],
      [`${own}&needsAttention=true`, [refund.id]],
      [`q=${other.id}&needsAttention=true`, []],
      [`${own}&outcomeUnknown=true`, []],
    ] as const) {
      expect(listed((await get(`?${query}`)).text), query).toEqual(expected);
    }
  });

  test('names the filters in use, and leads on from an ID that none has', async () => {
    const inUse = async (query: string) =>
      [...(await get(query)).text.matchAll(/<summary data-chosen="true">([^<]*)/g)].map(([, words]) => words);
    expect(await inUse('?reason=other&status=failed&status=pending&from=2026-01-31')).toEqual([
      'Status: Failed, Awaiting approval',
      'Created: Created from (UTC) 2026-01-31',
      'Reason: Other',
    ]);
    expect(await inUse('')).toEqual([]);
    const { text } = await get('?q=nothing+here');
    expect(text).toContain('No matching refunds');
    expect(text).toContain('Clear filters');
    expect(text).toContain('/search?q=nothing+here"');
  });

  test('counts each view, and shows order and customer of the metadata', async () => {
    const { id: organizationId, keys } = await service.addOrganization('Counted');
    const { visitor } = await signInMember(service, 'viewer', organizationId);
    const transactionId = await newPayment(service);
    const made: string[] = [];
    for (const metadata of [{ order_id: hostile }, { customer: 4711 }, null]) {
      const { body } = await service.call('POST', '/v1/refunds', {
        key: keys.test.plaintext,
        body: { transactionId, amount: 10, reason: 'other', ...(metadata === null ? {} : { metadata }) },
        headers: { prefer: 'respond-async' },
      });
      made.push(body.data.id);
    }
    const [unknown = '', failed = ''] = made;
    await service.deps.db.refundWork.update({
      where: { refundId: unknown },
      data: { retryingSince: new Date(), unknownSince: new Date() },
    });
    await end(failed, 'failed');
    const { text } = await visitor.get(`/dashboard/${organizationId}/test/refunds?outcomeUnknown=true`);
    expect(listed(text)).toEqual([unknown]);
    const [, views = ''] = /aria-label="Views">(.*?)<\/nav>/s.exec(text) ?? [];
    expect(
      views
        .replace(/<[^>]*>/g, '|')
        .split('|')
        .filter((each) => each.trim() !== '')
        .map((each) => each.trim()),
    ).toEqual([...['All', '3', 'Processing', '2', 'Outcome unknown', '1', 'Failed', '1']]);
    expect(text).toContain('data-title="Order"');
    expect(text).not.toContain('data-title="Customer"');
    expect(text).not.toMatch(/<script>alert/);
    const all = await visitor.get(`/dashboard/${organizationId}/test/refunds`);
    expect(all.text).toMatch(/data-title="Customer"><span[^>]*>4711/);
  });

  test('shows the metadata that the organization names, also in the search and the approvals', async () => {
    const { id, keys } = await service.addOrganization('Named');
    const { visitor } = await signInMember(service, 'admin', id);
    const at = `/dashboard/${id}/test`;
    const metadata = { ticket: 'T-1', order_id: 'SO-1', store: hostile, paid: true };
    await setPolicies(service.deps, {
      ...{ organizationId: id, actor: 'test' },
      file: { policies: [{ name: 'Ask', priority: 1, approvalAbove: { api: 0 } }] },
    });
    await service.call('POST', '/v1/refunds', {
      key: keys.test.plaintext,
      body: { transactionId: await newPayment(service), amount: 10, reason: 'other', metadata },
    });
    const save = (columns: string) => visitor.post(`${at}/settings/accounts/columns`, { keys: columns });
    for (const refused of ['a, b, c, d', 'x'.repeat(41)]) {
      const { status, text } = await save(refused);
      expect([status, text.includes(`value="${refused}"`)]).toEqual([400, true]);
      expect(text).toContain('Must be at most 3, with 1 to 40 printable characters each.');
    }
    const saved = await save(' store, ticket,store,paid');
    expect([saved.headers.location, saved.done]).toEqual([`${at}/settings/accounts`, 'columns-saved']);
    await save('store, ticket, paid');
    const [entry, ...others] = (await auditOf(service, id)).filter(({ action }) => /columns/.test(action));
    expect([entry?.detail, others]).toEqual([{ from: [], to: ['store', 'ticket', 'paid'] }, []]);
    const list = (await visitor.get(`${at}/refunds`)).text;
    expect(list).toMatch(
      /data-title="store".*data-title="ticket"><span[^>]*>T-1.*data-title="paid"><span[^>]*>true/s,
    );
    expect(list).not.toContain('SO-1');
    expect(list).not.toMatch(/<script>alert/);
    const approval = (await visitor.get(`${at}/approvals`)).text;
    expect(approval).toMatch(/<dt>store<.*<dt>ticket<.*<dt>paid<.*<dt>Reason<.*<dt>order_id</s);
    expect((await visitor.get(`${at}/search?q=0.10`, { 'hx-request': 'true' })).text).toMatch(
      /store: &lt;.* · ticket: T-1 · paid: true/,
    );
  });

  test.each([
    ['status=lost', 'Choose from the list.'],
    ['processor=paypal', 'Choose from the list.'],
    ['from=yesterday', 'Enter a date, such as 2026-01-31.'],
    ['from=0001-01-01', 'Enter a date after 1969.'],
    ['from=2026-02-01&to=2026-01-31', 'Must not be before the start date.'],
    ['amountFrom=10.50', 'Choose the currency of the amounts.'],
    ['sort=largest', 'Choose the currency of the amounts.'],
    ['currency=usd&amountFrom=10.505', 'Enter a'],
    ['currency=usd&amountTo=-1', 'Must not be negative.'],
    ['currency=usd&amountFrom=2&amountTo=1.99', 'Must not be less than the minimum.'],
  ])('shows the problem of the filter %s at its field', async (query, problem) => {
    const page = await get(`?${query}`);
    expect(page.status).toBe(400);
    expect(page.text).toMatch(new RegExp(`class="problem"[^>]*>${problem}`));
  });

  test('pages to older refunds and back', async () => {
    const { id: organizationId } = await service.addOrganization('Paged');
    const { visitor } = await signInMember(service, 'viewer', organizationId);
    await fillWithRefunds(service, organizationId, 26);
    const list = `/dashboard/${organizationId}/test/refunds?from=2020-01-01`;
    const follow = async (text: string, words: string) => {
      const [, to = ''] = new RegExp(`href="([^"]+)">${words}<`).exec(text) ?? [];
      return (await visitor.get(to.replaceAll('&amp;', '&'))).text;
    };
    const first = (await visitor.get(list)).text;
    expect(first).toContain('26 refunds');
    expect(first).not.toContain('>Newer<');
    const second = await follow(first, 'Older');
    expect(second).not.toContain('>Older<');
    const made = [...listed(first), ...listed(second)];
    expect([new Set(made).size, listed(first).length]).toEqual([26, 25]);
    expect(listed(await follow(second, 'Newer'))).toEqual(made.slice(0, 25));
    const oldest = await follow(first, 'Oldest first');
    expect(listed(oldest)).toEqual(made.toReversed().slice(0, 25));
    expect(oldest).not.toContain('>Older<');
    expect(listed(await follow(oldest, 'Newer'))).toEqual(made.slice(0, 1));
  });

  test.each([
    [40, 'all of a currency'],
    [120, 'the 50 largest of a currency'],
  ])('lists by amount, of %i refunds, %s', async (count, shown) => {
    const { id: organizationId } = await service.addOrganization(`Largest of ${count}`);
    const { visitor } = await signInMember(service, 'viewer', organizationId);
    await fillWithRefunds(service, organizationId, count);
    const list = `/dashboard/${organizationId}/test/refunds`;
    const [, to = ''] =
      /href="([^"]+)">Largest in USD</.exec((await visitor.get(`${list}?currency=usd`)).text) ?? [];
    const { text } = await visitor.get(to.replaceAll('&amp;', '&'));
    const ours = { organizationId, currency: 'usd' };
    const matching = await service.deps.db.refund.findMany({ where: ours, orderBy: { amount: 'desc' } });
    const expected = matching.slice(0, 50).map(({ amount }) => toDecimal(amount, 'usd'));
    const amounts = [...text.matchAll(/class="row-link"[^>]*><span[^>]*>([\d.,]+) USD</g)];
    expect(amounts.map(([, amount]) => amount?.replaceAll(',', ''))).toEqual(expected);
    const words = `${matching.length} refunds${shown.startsWith('all') ? '' : ', the 50 largest'}`;
    expect(text).toContain(`<p class="muted">${words}</p>`);
  });
});

test('the list and the page of a refund update themselves until the refund has ended', async () => {
  const { id } = await createdRefund(service, 'stripe');
  const { text } = await get(`?q=${id}`);
  const [, from = ''] =
    /id="results" hx-get="([^"]+)" hx-trigger="every 4s" hx-swap="outerMorph"/.exec(text) ?? [];
  const results = from.replaceAll('&amp;', '&');
  const state = `${base}/refunds/${id}`;
  expect((await get(`/${id}`)).text).toContain(`hx-get="${state}"`);
  expect(listed((await part(results)).text)).toEqual([id]);
  for (const url of [results, state]) expect((await part(url)).text).toMatch(/^<div id="\w+" hx-get/);
  await end(id, 'completed');
  for (const url of [results, state]) expect((await part(url)).text).toMatch(/^<div id="\w+"><div/);
  expect((await get(`?q=${id}`)).text).not.toContain('hx-trigger="every');
});

describe('the page of a refund', () => {
  test('shows its fields, payment, metadata and requester, with metadata escaped', async () => {
    const transactionId = await newPayment(service);
    const { body } = await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 2_500, reason: 'product_defective', metadata: { note: hostile } },
      headers: { prefer: 'respond-async' },
    });
    const { text } = await get(`/${body.data.id}`);
    const key = `key ...${service.organization.keys.test.plaintext.slice(-4)}`;
    const amounts = ['25.00 USD', '100.00 USD', '75.00 USD'];
    for (const words of [body.data.id, transactionId, 'Product defective', ...amounts, key]) {
      expect(text).toContain(words);
    }
    expect(text).not.toMatch(/<script>alert|<img src=x/);
    expect(text).toContain('&lt;script>alert(1)');
  });

  test('offers the message to the customer in the language of the address, with the texts of the settings', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const admin = await signInMember(service, 'admin');
    const settings = `${base}/settings/customer-texts`;
    const basedOn = hiddenField((await admin.visitor.get(settings)).text, 'basedOn');
    const save = (texts: string) => admin.visitor.post(settings, { texts, basedOn });
    const refused = await save('{"it": {"started": "In corso"}}');
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('id="texts-problem">it.started: must contain {amount}');
    const own = { ...serviceTexts.en, started: `${hostile} {amount}` };
    expect(await save(JSON.stringify({ it: own }))).toMatchObject({ status: 303 });
    const { text } = await get(`/${id}?language=it`);
    expect(text).toMatch(/<p class="said" lang="it" dir="auto">&lt;script>.*?25,00\sUSD<\/p>/);
    expect(text).toMatch(/data-copy="&lt;script>[^"]+25,00\sUSD"/);
    expect(text).toContain(`hx-get="${base}/refunds/${id}?language=it"`);
    expect((await get(`/${id}?language=xx`)).text).toContain('We are processing your refund of $25.00.');
    await flagByHand(service, id);
    expect((await get(`/${id}`)).text).not.toContain('Message to the customer');
  });

  test('keeps texts that someone else saved since the page of the settings was opened', async () => {
    const { visitor } = await signInMember(service, 'admin');
    const settings = `${base}/settings/customer-texts`;
    const opened = hiddenField((await visitor.get(settings)).text, 'basedOn');
    const save = (language: string, basedOn: string) =>
      visitor.post(settings, { texts: JSON.stringify({ [language]: serviceTexts.en }), basedOn });
    expect((await save('pt', opened)).status).toBe(303);
    const refused = await save('nl', opened);
    expect(refused).toMatchObject({ status: 409, text: expect.stringContaining('Someone else changed') });
    expect(hiddenField(refused.text, 'basedOn')).toBe(opened);
    expect((await visitor.get(settings)).text).toContain('&quot;pt&quot;');
  });

  test('advises a new payment method after a reversal, but never while the refund is flagged', async () => {
    const { id } = await createdRefund(service, 'stripe');
    await end(id, 'failed', 'reversed');
    await service.deps.db.refund.update({ where: { id }, data: { failureMessage: hostile } });
    expect((await get(`/${id}`)).text).toContain('Pay the customer');
    await flagByHand(service, id, {
      reason: 'moved_after_end',
      facts: { status: 'failed', processorStatus: hostile },
    });
    const { text } = await get(`/${id}`);
    expect(text).toMatch(/do not refund it again/i);
    expect(text).not.toContain('Pay the customer');
    expect(text).not.toMatch(/<script>alert|<img src=x/);
  });

  test.each(['review.flagged', 'flag.dismissed', 'reconciliation.flagged'])(
    'warns after %s against another refund until the processor agrees',
    async (type) => {
      const { id } = await createdRefund(service, 'stripe');
      const operator = await signInMember(service, 'operator');
      const page = async () => (await operator.visitor.get(`${base}/refunds/${id}`)).text;
      await end(id, 'failed', 'reversed');
      expect(await page()).toContain('Try again');
      await addEvent(id, 97, type);
      const flagged = await page();
      expect(flagged).toMatch(/do not refund it again/i);
      expect(flagged).not.toContain('Try again');
      await addEvent(id, 98, 'review.agreed');
      const agreed = await page();
      expect(agreed).toContain('Pay the customer');
      expect(agreed).toContain('Try again');
    },
  );
});

test('a refund of another environment, and an unknown one, do not exist', async () => {
  const { id } = await createdRefund(service, 'stripe');
  const live = `/dashboard/${service.organization.id}/live/refunds/${id}`;
  for (const url of [live, `${base}/refunds/${unknownRefundId}`]) {
    expect((await viewer.visitor.get(url)).status, url).toBe(404);
  }
});

test('folds attempts without an answer into one line, and no other event', async () => {
  const { id } = await createdRefund(service, 'stripe');
  for (const seq of [10, 11, 12]) await addEvent(id, seq, 'attempt.unavailable', 'processing');
  await addEvent(id, 13, 'attempt.accepted', 'processing');
  for (const seq of [14, 15]) await addEvent(id, seq, 'cancel.unanswered', 'processing');
  const { text } = await get(`/${id}`);
  const [, folded = '', unfolded = ''] = /(<details id="from.*<\/details>)(.*)/s.exec(text) ?? [];
  expect(folded).toContain('3 attempts without a result');
  expect(folded.match(/Not accepted yet, sent again later/g)).toHaveLength(3);
  expect(folded).toContain('1 min later');
  expect(unfolded).toContain('2026-11-20 10:10:00 UTC');
  expect(text.match(/<details id="from/g)).toHaveLength(1);
  expect(text.match(/Cancellation not answered/g)).toHaveLength(2);
});

test('shows the newest of a long timeline, and what follows from the rest', async () => {
  const { id } = await createdRefund(service, 'stripe');
  await end(id, 'failed', 'reversed');
  await addEvent(id, 2, 'flag.dismissed');
  await lengthenTimeline(service, id, 900);
  const { text } = await get(`/${id}`);
  expect(text.match(/Metadata changed/g)).toHaveLength(500);
  expect(text).toContain('Not shown: 400 earlier entries.');
  expect(text).toMatch(/do not refund it again/i);
});

test('the page of a refund shows an attempt whose outcome is not known', async () => {
  const { id } = await createdRefund(service, 'stripe');
  expect((await get(`/${id}`)).text).not.toContain('Sent, outcome unknown');
  expect((await service.deps.statements.claim(id))?.step).toBe('send');
  const { text } = await get(`/${id}`);
  expect(text).toMatch(/Sent, outcome unknown.*attempt 1/s);
  expect(text).not.toContain('Not sent yet');
});
