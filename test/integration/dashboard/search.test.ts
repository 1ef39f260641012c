import { beforeAll, expect, test } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let refund: { id: string; transactionId: string };
const externalRefundId = 're_3SearchedFor';

beforeAll(async () => {
  const transactionId = await newPayment(service, { amount: 100_000 });
  const body = {
    transactionId,
    amount: 4_210,
    reason: 'other',
    metadata: { order_id: 'SO-1042', email: 'Jane.Doe@shop.example', seats: 3 },
  };
  const headers = { prefer: 'respond-async' };
  const made = await service.call('POST', '/v1/refunds', { body, headers });
  refund = made.body.data;
  await service.call('POST', '/v1/refunds', { body: { ...body, amount: 777, metadata: {} }, headers });
  await service.deps.db.refund.update({ where: { id: refund.id }, data: { externalRefundId } });
});

/** The refunds that a search leads to. */
async function hits(text: string, { organizationId = service.organization.id, environment = 'test' } = {}) {
  const { visitor } = await signInMember(service, 'viewer', organizationId);
  const query = new URLSearchParams({ q: text });
  const page = await visitor.get(`/dashboard/${organizationId}/${environment}/search?${query}`, {
    'hx-request': 'true',
  });
  expect(page.status).toBe(200);
  return [...page.text.matchAll(/\/refunds\/(ref_\w+)"/g)].map(([, id]) => id);
}

test.each<[what: string, text: () => string]>([
  ['an order number', () => 'SO-1042'],
  ['an order number in lower case, with spaces', () => ' so-1042 '],
  ['an order number behind a #', () => '#SO-1042'],
  ['an order number behind a word', () => 'order 1042'],
  ['the digits of an order number', () => '1042'],
  ['a word of an address', () => 'doe'],
  ['a number in the metadata', () => '3'],
  ['its ID', () => refund.id],
  ['the beginning of its ID', () => refund.id.slice(0, 15)],
  ["the processor's refund ID", () => externalRefundId],
  ["the beginning of the processor's refund ID", () => externalRefundId.slice(0, 9)],
  ['the beginning of its ID without the prefix', () => refund.id.slice(4, 15)],
  ["the beginning of the processor's refund ID without the prefix", () => externalRefundId.slice(3, 10)],
  ["the beginning of the payment's ID without the prefix", () => refund.transactionId.slice(3, 14)],
  ['the end of its ID', () => refund.id.slice(-6)],
  ['its amount', () => '42.10'],
  ['its amount with a sign, of whatever currency', () => '€42.10'],
  ['its amount with a comma and a currency', () => '42,1 usd'],
])('finds a refund by %s, in its organization and environment alone', async (_what, text) => {
  expect(await hits(text())).toContain(refund.id);
  expect(await hits(text(), { environment: 'live' })).toEqual([]);
  const other = await service.addOrganization('Others');
  expect(await hits(text(), { organizationId: other.id })).toEqual([]);
});

test('finds the refunds of a payment by the beginning of its ID', async () => {
  expect(await hits(refund.transactionId.slice(0, 8))).toHaveLength(2);
});

test.each(['', ' ', '%', 'SO-1043', '42.11', '42.10 eur', 'ref_', "'", '1e9', 'x'.repeat(300)])(
  'finds nothing for %j',
  async (text) => expect(await hits(text)).toEqual([]),
);

test('opens the only refund that matches', async () => {
  const { visitor } = await signInMember(service, 'viewer');
  const base = `/dashboard/${service.organization.id}/test`;
  const { headers } = await visitor.get(`${base}/search?q=so-1042`);
  expect(headers.location).toBe(`${base}/refunds/${refund.id}`);
});
