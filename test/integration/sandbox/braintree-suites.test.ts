import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { braintreeClient } from '../../sandbox/clients.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

// What the integration suites of Braintree's own SDKs assert of refunds, voids, and finding them, against the sandbox. Where a
// suite makes and settles a sale, the control API places one.

const { sandbox, control } = useSandbox({ autoSettle: false });

const gateway = () => braintreeClient(sandbox.url).transactions;

/** A settled sale unless the fields say otherwise. */
const sale = (fields: Record<string, unknown> = {}) =>
  control.transaction({ processor: 'braintree', amount: 100_000, currency: 'usd', ...fields });

/** The credit of a refund that succeeds. */
async function refunded(saleId: string, options: Parameters<ReturnType<typeof gateway>['refund']>[1] = {}) {
  const { success, transaction } = await gateway().refund(saleId, options);
  expect(success).toBe(true);
  expect(transaction.type).toBe('credit');
  return transaction;
}

/** For a request that is refused with this code alone. */
function expectRefused(reply: Awaited<ReturnType<ReturnType<typeof gateway>['refund']>>, code: string): void {
  expect(reply.success).toBe(false);
  expect(reply.errors.deepErrors().map((error) => error.code)).toEqual([code]);
}

type Criteria = Parameters<ReturnType<typeof gateway>['search']>[0];

/** The ids that a search finds. The published types know only its stream. */
function idsFound(criteria: Criteria): Promise<string[]> {
  type Callback = (error: unknown, response: { ids: string[] }) => void;
  const search = gateway().search.bind(gateway()) as unknown as (fn: Criteria, done: Callback) => void;
  return new Promise((resolve, reject) => {
    search(criteria, (error, response) => (error ? reject(error) : resolve(response.ids)));
  });
}

type Search = { is: (value: unknown) => void; min: (from: Date) => void };
type AnySearch = Record<string, () => Search>;

const searching = (fill: (search: AnySearch) => void) => fill as unknown as Criteria;

const node = 'braintree_node/test/integration/braintree';
const ruby = 'braintree_ruby/spec/integration/braintree';
const gatewaySpec = `${node}/transaction_gateway_spec.js`;
const keySpec = `${node}/transaction_idempotency_spec.js`;
const transactionSpec = `${ruby}/transaction_spec.rb`;

const assertions: [suite: string, title: string, holds: () => Promise<void>][] = [
  [
    gatewaySpec,
    'refunds a transaction',
    async () => {
      const id = await sale();
      expect((await refunded(id)).refundedTransactionId).toBe(id);
    },
  ],
  [
    gatewaySpec,
    'allows refunding partial amounts',
    async () => {
      const id = await sale();
      expect(await refunded(id, { amount: '1.00' })).toMatchObject({
        ...{ refundedTransactionId: id, amount: '1.00' },
      });
    },
  ],
  [
    gatewaySpec,
    'allows refunding with options param',
    async () => {
      const options = { order_id: 'abcd', amount: '1.00', merchant_account_id: 'other_account' };
      expect(await refunded(await sale(), options)).toMatchObject({
        ...{ orderId: 'abcd', amount: '1.00', merchantAccountId: 'other_account' },
      });
    },
  ],
  [
    gatewaySpec,
    'refund handles validation errors',
    async () => {
      const unsettled = await sale({ status: 'submitted_for_settlement' });
      expectRefused(await gateway().refund(unsettled, { amount: '5.00' }), '91506');
    },
  ],
  [
    gatewaySpec,
    'handles refunds that soft decline',
    async () => {
      const id = await sale({ amount: 900_000 });
      expect(await refunded(id, { amount: '2046.00' })).toMatchObject({
        status: 'submitted_for_settlement',
        processorResponseCode: '1005',
        processorResponseText: 'Auth Declined but Settlement Captured',
        processorResponseType: 'approved',
        additionalProcessorResponse: '2046 : Declined',
      });
    },
  ],
  [
    gatewaySpec,
    'handles refunds that hard decline',
    async () => {
      const id = await sale({ amount: 900_000 });
      const { success, transaction } = await gateway().refund(id, { amount: '2004.00' });
      expect(success).toBe(false);
      const declined = {
        id: expect.stringMatching(/^\w{6,}$/),
        type: 'credit',
        status: 'processor_declined',
        processorResponseCode: '2004',
        processorResponseText: 'Expired Card',
        processorResponseType: 'hard_declined',
        additionalProcessorResponse: '2004 : Expired Card',
      };
      expect(transaction).toMatchObject(declined);
      expect(await gateway().find(transaction.id)).toMatchObject(declined);
    },
  ],
  [
    gatewaySpec,
    'finds a transaction',
    async () => {
      const found = await gateway().find(await sale({ amount: 500 }));
      expect(found).toMatchObject({ amount: '5.00', graphQLId: expect.any(String) });
    },
  ],
  [
    gatewaySpec,
    'exposes the acquirerReferenceNumber',
    async () => {
      const { id } = await refunded(await sale());
      await control.driveRefund(id, { status: 'settled', bankReference: '123456789 091019' });
      expect(await gateway().find(id)).toMatchObject({ acquirerReferenceNumber: '123456789 091019' });
    },
  ],
  [
    gatewaySpec,
    'exposes disputes',
    async () => {
      const id = await sale({ createdAt: '2014-03-01T12:00:00Z' });
      await control.changeTransaction(id, { status: 'disputed' });
      await control.changeTransaction(id, { dispute: 'won' });
      const { disputes } = await gateway().find(id);
      expect(disputes?.[0]).toMatchObject({
        ...{ amount: '1000.00', currencyIsoCode: 'USD', status: 'won', kind: 'chargeback', reason: 'fraud' },
        ...{ receivedDate: '2014-03-01', replyByDate: '2014-03-21', dateOpened: '2014-03-01' },
        dateWon: expect.any(String),
        transactionDetails: { id, amount: '1000.00' },
      });
    },
  ],
  [
    gatewaySpec,
    'returns a not found error if given a bad id',
    async () => {
      await expect(gateway().find('missing_transaction')).rejects.toMatchObject({ type: 'notFoundError' });
    },
  ],
  [
    gatewaySpec,
    'returns null threeDSecureInfo if it is empty',
    async () => {
      expect(await gateway().find(await sale())).toMatchObject({ threeDSecureInfo: null });
    },
  ],
  [
    gatewaySpec,
    'voids a transaction',
    async () => {
      const { success, transaction } = await gateway().void(await sale({ status: 'authorized' }));
      expect([success, transaction.status]).toEqual([true, 'voided']);
    },
  ],
  [
    gatewaySpec,
    'void handles validation errors',
    async () => {
      const id = await sale({ status: 'authorized' });
      await gateway().void(id);
      expectRefused(await gateway().void(id), '91504');
    },
  ],
  [
    keySpec,
    'returns original void on duplicate request with same api request key',
    async () => {
      const [id, apiRequestKey] = [await sale({ status: 'authorized' }), randomUUID()];
      for (const _ of ['first', 'again']) {
        const { success, transaction } = await gateway().void(id, { apiRequestKey });
        expect([success, transaction.id, transaction.status]).toEqual([true, id, 'voided']);
      }
    },
  ],
  [
    keySpec,
    'returns original refund on duplicate request with same api request key',
    async () => {
      const [id, apiRequestKey] = [await sale(), randomUUID()];
      const first = await refunded(id, { apiRequestKey });
      expect((await refunded(id, { apiRequestKey })).id).toBe(first.id);
    },
  ],
  [
    keySpec,
    'fails when different request used with same key',
    async () => {
      const [id, apiRequestKey] = [await sale(), randomUUID()];
      await refunded(id, { amount: '1.00', apiRequestKey });
      expectRefused(await gateway().refund(id, { amount: '2.00', apiRequestKey }), '915232');
    },
  ],
  [
    keySpec,
    'same requests with different api request keys create different transactions',
    async () => {
      const id = await sale();
      const make = () => refunded(id, { amount: '1.00', apiRequestKey: randomUUID() });
      expect((await make()).id).not.toBe((await make()).id);
    },
  ],
  [
    keySpec,
    'fails when api request key is too big',
    async () => {
      const id = await sale();
      await refunded(id, { amount: '1.00', apiRequestKey: 'x'.repeat(255) });
      expectRefused(await gateway().refund(id, { amount: '1.00', apiRequestKey: 'x'.repeat(256) }), '915230');
    },
  ],
  [
    `${node}/advanced_search_spec.js`,
    'finds the sale that was refunded by refund',
    async () => {
      const [id, other] = [await sale(), await sale()];
      await refunded(id);
      const byId = (wanted: string) => (search: AnySearch) => {
        search.id?.().is(wanted);
        search.refund?.().is(true);
      };
      expect(await idsFound(searching(byId(id)))).toEqual([id]);
      expect(await idsFound(searching(byId(other)))).toEqual([]);
    },
  ],
  [
    transactionSpec,
    'allows multiple partial refunds, which the sale lists',
    async () => {
      const id = await sale();
      const half = () => refunded(id, { amount: '500.00' });
      const ids = [(await half()).id, (await half()).id];
      expect((await gateway().find(id)).refundIds?.sort()).toEqual(ids.sort());
    },
  ],
  [
    transactionSpec,
    'returns an error if already refunded',
    async () => {
      const id = await sale();
      await refunded(id);
      expectRefused(await gateway().refund(id), '91512');
    },
  ],
  [
    transactionSpec,
    'raises a ValidationsFailed if the amount is more than that of the sale',
    async () => expectRefused(await gateway().refund(await sale(), { amount: '1001.00' }), '91521'),
  ],
  [
    transactionSpec,
    'allows amount and order_id to be passed for the refund',
    async () => {
      const options = { amount: '500.00', orderId: '123458798123' };
      expect(await refunded(await sale(), options)).toMatchObject(options);
    },
  ],
  [
    transactionSpec,
    'returns the whole amount without one',
    async () => expect((await refunded(await sale())).amount).toBe('1000.00'),
  ],
  [
    transactionSpec,
    'returns an error result if unsettled',
    async () => expectRefused(await gateway().refund(await sale({ status: 'authorized' })), '91506'),
  ],
  [
    transactionSpec,
    'fails to void a transaction that was declined',
    async () => expectRefused(await gateway().void(await sale({ status: 'processor_declined' })), '91504'),
  ],
  [
    `${ruby}/transaction_search_spec.rb`,
    'finds refunds among credits',
    async () => {
      const credit = await refunded(await sale(), { orderId: randomUUID() });
      const ofOrder = (isRefund: boolean) => (search: AnySearch) => {
        search.orderId?.().is(credit.orderId);
        search.refund?.().is(isRefund);
      };
      expect(await idsFound(searching(ofOrder(true)))).toEqual([credit.id]);
      expect(await idsFound(searching(ofOrder(false)))).toEqual([]);
    },
  ],
  [
    `${ruby}/transaction_search_spec.rb`,
    'finds transactions voided in a given range',
    async () => {
      const id = await sale({ status: 'authorized' });
      await gateway().void(id);
      const since = (time: number) => (search: AnySearch) => {
        search.id?.().is(id);
        search.voidedAt?.().min(new Date(time));
      };
      expect(await idsFound(searching(since(Date.now() - 86_400_000)))).toEqual([id]);
      expect(await idsFound(searching(since(Date.now() + 86_400_000)))).toEqual([]);
    },
  ],
];

test.each(assertions)('holds what %s asserts: %s', async (_suite, _title, holds) => {
  await holds();
});

test('a repeated request key returns the declined refund as well', async () => {
  const id = await sale({ amount: 900_000 });
  const decline = () => gateway().refund(id, { amount: '2004.00', apiRequestKey: 'declined' });
  const [first, again] = [await decline(), await decline()];
  expect(again).toMatchObject({ success: false, transaction: { id: first.transaction.id } });
  expect(await control.refunds({ transactionId: id })).toEqual([]);
});

test('a parameter that Braintree does not know is answered 403', async () => {
  const options = { amount: '1.00', blah: 'x' };
  await expect(gateway().refund(await sale(), options)).rejects.toMatchObject({ type: 'authorizationError' });
});
