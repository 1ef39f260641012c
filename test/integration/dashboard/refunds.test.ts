import { beforeAll, describe, expect, test } from 'vitest';
import { toDecimal } from '../../../shared/money/money.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { endWork, flagByHand } from '../../support/refunds/refund-work.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let person: DashboardMember;
let base: string;
const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)>';

beforeAll(async () => {
  person = await signInMember(service, 'viewer');
  base = `/dashboard/${service.organization.id}/test`;
});

/** The ids of the refunds that a page lists, in their order. */
function listed(text: string): string[] {
  return [...text.matchAll(/id="row-(ref_\w+)"/g)].map(([, id = '']) => id);
}

async function ended(id: string, status: 'completed' | 'failed') {
  const change = status === 'failed' ? { failureCode: 'declined' } : { externalRefundId: `re_${id}` };
  await service.deps.db.refund.update({ where: { id }, data: { status, ...change } });
  await endWork(service, id);
}

describe('without a refund the list', () => {
  test('says how to create the first one', async () => {
    const { visitor } = await signInMember(service, 'operator');
    const { text } = await visitor.get(`/dashboard/${service.organization.id}/live/refunds`);
    expect(text).toContain('No live refunds yet');
    expect(text).toContain('Bearer svc_live_...');
    expect(text).toContain('/live/refunds/new"');
  });

  test('offers no form to who may only look', async () => {
    const { text } = await person.visitor.get(`/dashboard/${service.organization.id}/live/refunds`);
    expect(text).toContain('curl');
    expect(text).not.toContain('Create the first one here');
    expect(text).not.toContain('refunds/new');
  });
});

describe('the list', () => {
  test('shows the newest first, with what was asked for and by whom', async () => {
    const [older, newer] = [
      await createdRefund(service, 'stripe'),
      await createdRefund(service, 'braintree'),
    ];
    const { text, status } = await person.visitor.get(`${base}/refunds`);
    expect(status).toBe(200);
    expect(listed(text).slice(0, 2)).toEqual([newer.id, older.id]);
    expect(text).toContain('25.00 USD');
    expect(text).toContain(older.transactionId);
    expect(text).toContain(`API, key ...${service.organization.keys.test.plaintext.slice(-4)}`);
  });

  test('finds by id, transaction and every filter, and says when there is nothing', async () => {
    const refund = await createdRefund(service, 'braintree');
    const other = await createdRefund(service, 'stripe');
    await ended(other.id, 'failed');
    const today = new Date().toISOString().slice(0, 10);
    const find = async (query: string) => listed((await person.visitor.get(`${base}/refunds?${query}`)).text);
    expect(await find(`q=${refund.id}`)).toEqual([refund.id]);
    expect(await find(`q=+${refund.transactionId}+`)).toEqual([refund.id]);
    expect(await find('status=failed&status=cancelled')).toEqual([other.id]);
    expect(await find(`processor=braintree&from=${today}&to=${today}`)).toContain(refund.id);
    expect(await find('processor=braintree')).not.toContain(other.id);
    expect(await find(`initiatedBy=dashboard&q=${refund.id}`)).toEqual([]);
    expect(await find(`reason=other&currency=usd&q=${refund.id}`)).toEqual([refund.id]);
    expect(await find(`currency=eur&q=${refund.id}`)).toEqual([]);
    expect(await find(`to=2020-01-01`)).toEqual([]);
    const [less, exactly, more] = [refund.amount - 1n, refund.amount, refund.amount + 1n].map((amount) =>
      toDecimal(amount, 'usd'),
    );
    const named = `currency=usd&q=${refund.id}`;
    expect(await find(`${named}&amountFrom=${exactly}&amountTo=${exactly}`)).toEqual([refund.id]);
    expect(await find(`${named}&amountFrom=${more}`)).toEqual([]);
    expect(await find(`${named}&amountTo=${less}`)).toEqual([]);
    expect(await find(`needsPerson=true&q=${refund.id}`)).toEqual([]);
    await flagByHand(service, refund.id);
    expect(await find(`needsPerson=true&q=${refund.id}`)).toEqual([refund.id]);
    const isOpen = /<details class="more" open/;
    expect((await person.visitor.get(`${base}/refunds?needsPerson=true`)).text).toMatch(isOpen);
    const { text } = await person.visitor.get(`${base}/refunds?q=nothing`);
    expect(text).not.toMatch(isOpen);
    expect(text).toContain('No refund is like this');
    expect(text).toContain('Clear the filters');
  });

  test.each([
    ['status=lost', 'Choose from the list.'],
    ['processor=paypal', 'Choose from the list.'],
    ['from=yesterday', 'Has to be a day'],
    ['from=0001-01-01', 'Has to be a day from 1970 on'],
    ['from=2026-02-01&to=2026-01-31', 'the same day as the first one, or later'],
    ['amountFrom=10.50', 'Choose the currency of the amounts.'],
    ['currency=usd&amountFrom=10.505', 'Enter a number in decimals of the currency'],
    ['currency=usd&amountTo=-1', 'Must not be negative.'],
    ['currency=usd&amountFrom=2&amountTo=1.99', 'as much as the first one, or more'],
  ])('says at its field what is wrong with %s, and keeps it', async (query, problem) => {
    const page = await person.visitor.get(`${base}/refunds?${query}`);
    expect(page.status).toBe(400);
    expect(page.text).toContain(problem);
  });

  test('goes on to older refunds and back', async () => {
    const { id: organizationId, keys } = await service.addOrganization('Paged');
    const { visitor } = await signInMember(service, 'viewer', organizationId);
    const transactionId = await newPayment(service);
    const made: string[] = [];
    for (let count = 0; count < 26; count += 1) {
      const { body } = await service.call('POST', '/v1/refunds', {
        key: keys.test.plaintext,
        body: { transactionId, amount: 10, reason: 'other' },
        headers: { prefer: 'respond-async' },
      });
      made.unshift(body.data.id);
    }
    const list = `/dashboard/${organizationId}/test/refunds`;
    const linkTo = (text: string, words: string) =>
      new RegExp(`href="([^"]+)">${words}<`).exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const first = await visitor.get(`${list}?reason=other`);
    expect(first.text).toContain('26 refunds');
    expect(listed(first.text)).toEqual(made.slice(0, 25));
    expect(linkTo(first.text, 'Newer')).toBe('');
    const second = await visitor.get(linkTo(first.text, 'Older'));
    expect(listed(second.text)).toEqual(made.slice(25));
    expect(linkTo(second.text, 'Older')).toBe('');
    expect(listed((await visitor.get(linkTo(second.text, 'Newer'))).text)).toEqual(made.slice(0, 25));
  });

  test('refreshes its table while something in it is under way, and not otherwise', async () => {
    const refund = await createdRefund(service, 'stripe');
    const url = `${base}/refunds?q=${refund.id}`;
    const { text } = await person.visitor.get(url);
    const [, from = ''] =
      /id="results" hx-get="([^"]+)" hx-trigger="every 4s" hx-swap="outerMorph"/.exec(text) ?? [];
    const moving = await person.visitor.get(from.replaceAll('&amp;', '&'), { 'hx-request': 'true' });
    expect(moving.text).toMatch(/^<div id="results" hx-get/);
    expect(listed(moving.text)).toEqual([refund.id]);
    await ended(refund.id, 'completed');
    const still = await person.visitor.get(from.replaceAll('&amp;', '&'), { 'hx-request': 'true' });
    expect(still.text).toMatch(/^<div id="results"><div/);
    expect((await person.visitor.get(url)).text).not.toContain('hx-trigger="every');
  });
});

describe('the page of a refund', () => {
  test('shows its fields, its payment, its metadata as text, and its timeline with who did what', async () => {
    const transactionId = await newPayment(service);
    const { body } = await service.call('POST', '/v1/refunds', {
      body: { transactionId, amount: 2_500, reason: 'product_defective', metadata: { note: hostile } },
      headers: { prefer: 'respond-async' },
    });
    const { id } = body.data;
    const { text, status } = await person.visitor.get(`${base}/refunds/${id}`);
    expect(status).toBe(200);
    for (const words of [
      id,
      transactionId,
      'Product defective',
      '25.00 USD',
      '100.00 USD',
      '75.00 USD',
      'Created',
    ]) {
      expect(text).toContain(words);
    }
    expect(text).toContain(`key ...${service.organization.keys.test.plaintext.slice(-4)}`);
    expect(text).not.toMatch(/<script>alert|<img src=x/);
    expect(text).toContain('&lt;script>alert(1)');
  });

  test('says why a refund failed or is flagged, and what to do', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const page = async () => (await person.visitor.get(`${base}/refunds/${id}`)).text;
    const failure = { status: 'failed', failureCode: 'reversed', failureMessage: hostile } as const;
    await service.deps.db.refund.update({ where: { id }, data: failure });
    await endWork(service, id);
    expect(await page()).toContain('The money came back. Pay the customer');
    await flagByHand(service, id, {
      reason: 'moved_after_end',
      facts: { status: 'failed', processorStatus: hostile },
    });
    const flagged = await page();
    expect(flagged).toContain('Flagged (moved after it ended)');
    expect(flagged).toContain('or dismiss');
    expect(flagged).not.toMatch(/<script>alert|<img src=x/);
    // Another refund could pay the customer twice.
    expect(flagged).toContain('Do not refund it again before you are sure');
    expect(flagged).not.toContain('Pay the customer');
  });

  test.each(['review.flagged', 'flag.dismissed', 'reconciliation.flagged'])(
    'warns after %s that money may have moved, until the processor agrees',
    async (type) => {
      const body = { transactionId: await newPayment(service), amount: 2_500, reason: 'other' };
      const { body: created } = await service.call('POST', '/v1/refunds', { body });
      const { id } = created.data;
      const operator = await signInMember(service, 'operator');
      const page = async () => (await operator.visitor.get(`${base}/refunds/${id}`)).text;
      const tell = (seq: number, type: string) =>
        service.deps.db.refundEvent.create({
          data: {
            id: `evt_${seq}_${id}`,
            refundId: id,
            seq,
            type,
            actor: 'test',
            status: 'failed',
            detail: {},
            createdAt: new Date(),
          },
        });
      await service.deps.db.refund.update({
        where: { id },
        data: { status: 'failed', failureCode: 'reversed' },
      });
      await endWork(service, id);
      expect(await page()).toContain('Refund more of it');
      await tell(97, type);
      const doubted = await page();
      expect(doubted).toContain('Do not refund it again before you are sure');
      expect(doubted).not.toContain('Refund more of it');
      await tell(98, 'review.agreed');
      const agreed = await page();
      expect(agreed).toContain('Pay the customer');
      expect(agreed).toContain('Refund more of it');
    },
  );

  test('stays up to date until the refund has ended', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const state = `${base}/refunds/${id}/state`;
    expect((await person.visitor.get(`${base}/refunds/${id}`)).text).toContain(`hx-get="${state}"`);
    await ended(id, 'completed');
    const part = await person.visitor.get(state, { 'hx-request': 'true' });
    expect(part.text).toMatch(/^<div id="state"><div/);
    expect(part.text).toContain('Completed');
  });
});

describe('what is not ours does not exist', () => {
  test.each(['', '/state'])('a refund of another organization, or environment%s', async (suffix) => {
    const { id } = await createdRefund(service, 'stripe');
    const { id: organizationId } = await service.addOrganization('Others');
    const stranger = await signInMember(service, 'owner', organizationId);
    for (const url of [
      `/dashboard/${organizationId}/test/refunds/${id}${suffix}`,
      `${base}/refunds/${id}${suffix}`,
    ]) {
      expect((await stranger.visitor.get(url)).status).toBe(404);
    }
    const live = `/dashboard/${service.organization.id}/live/refunds/${id}${suffix}`;
    expect((await person.visitor.get(live)).status).toBe(404);
    expect((await person.visitor.get(`${base}/refunds/${unknownRefundId}${suffix}`)).status).toBe(404);
    expect(
      listed((await stranger.visitor.get(`/dashboard/${organizationId}/test/refunds?q=${id}`)).text),
    ).toEqual([]);
  });
});
