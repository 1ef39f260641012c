import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { listRefunds } from '#shared/processors/braintree/list-refunds.ts';
import { listAll, windowAroundNow } from '../../support/processors/describe/listing.ts';
import { creditXml, transactionXml } from '../../support/processors/processor-replies.ts';
import {
  braintreeCredentials,
  braintreeVariants,
  connect,
  options,
  useProcessor,
} from '../../support/processors/processor-variants.ts';
import { useScriptedServers, xml } from '../../support/processors/scripted-server.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

const serve = useScriptedServers();

describe('Braintree on the wire', () => {
  const submission = submissionFor('sale1');
  /** Answers reads with a sale, and writes as told. */
  const answerWrites = async (write: (response: ServerResponse) => void, sale = transactionXml({})) => {
    const server = await serve((call, response) =>
      call.method === 'GET' ? xml(response, 200, sale) : write(response),
    );
    return { ...server, braintree: connect('braintree', braintreeCredentials, server.url) };
  };

  test('sends the amount in decimals, our refund id, and a key only where keys are enabled', async () => {
    const { url, seen } = await answerWrites((response) => xml(response, 201, creditXml()));
    for (const variant of braintreeVariants) {
      await connect('braintree', variant.credentials, url).createRefund(submission, options);
    }
    const refund = { amount: '15.00', order_id: `${submission.refundId}..${submission.organizationId}` };
    const posts = seen.filter(({ method }) => method === 'POST');
    const path = '/merchants/merchant/transactions/sale1/refund';
    expect(posts.map((post) => [post.path, JSON.parse(post.body)])).toEqual([
      [path, { transaction: refund }],
      [path, { transaction: { ...refund, api_request_key: submission.idempotencyKey } }],
    ]);
  });

  test('reads no sale by a GraphQL id that the sale itself does not have', async () => {
    const asked = Buffer.from('transaction_sale1').toString('base64url');
    for (const [globalId, kind] of [
      [asked, 'found'],
      ['dHJhbnNhY3Rpb25fb3RoZXI', 'not-found'],
    ] as const) {
      const sale = transactionXml({ 'global-id': globalId });
      const { braintree } = await answerWrites((response) => xml(response, 200, sale), sale);
      expect(await braintree.getPayment(asked, options)).toMatchObject({ kind });
    }
  });

  test.each([
    ['another currency', creditXml({ 'currency-iso-code': 'EUR' }), 'mismatched'],
    ['a refund of another payment', creditXml({ 'refunded-transaction-id': 'sale2' }), 'unknown'],
    ['a payment', transactionXml({}), 'unknown'],
    ['an amount that is none', creditXml({ amount: 'many' }), 'unknown'],
    ['an unknown currency', creditXml({ 'currency-iso-code': 'ZZZ' }), 'unknown'],
    ['something else', '<unexpected/>', 'unknown'],
    ['nothing', '', 'unknown'],
    ['broken XML', '<transaction><id>', 'unknown'],
    ['a page in HTML', '<html></html>', 'unknown'],
  ])('does not accept a submission with %s', async (_, reply, kind) => {
    const { braintree } = await answerWrites((response) => xml(response, 201, reply));
    const answer = await braintree.createRefund(submission, options);
    expect(answer).toMatchObject({ kind });
  });

  test('refunds in the next attempt when a void comes too late', async () => {
    const error = '<error><code>91504</code><attribute>base</attribute><message>Too late.</message></error>';
    const refusal = `<api-error-response><errors><transaction><errors type="array">${error}</errors></transaction></errors><message>Too late.</message></api-error-response>`;
    const authorized = transactionXml({ status: 'authorized' });
    const { braintree, seen } = await answerWrites((response) => xml(response, 422, refusal), authorized);
    const answer = await braintree.createRefund({ ...submission, amount: 5_000n }, options);
    expect(answer).toMatchObject({ kind: 'unavailable', failure: { code: 'unsettled' } });
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'PUT']);
  });

  test('takes the void of what is left of a payment that was settled in parts for no refund', async () => {
    const parts =
      '<partial-settlement-transaction-ids type="array"><item>part1</item></partial-settlement-transaction-ids>';
    const voided = transactionXml({ status: 'voided' }).replace('</transaction>', `${parts}</transaction>`);
    const whole = { ...submission, amount: 5_000n };
    const later = await answerWrites(
      (response) => xml(response, 200, voided),
      transactionXml({ status: 'authorized' }),
    );
    // The first part was submitted between the read and the void.
    expect(await later.braintree.createRefund(whole, options)).toMatchObject({ kind: 'unknown' });
    const { braintree } = await answerWrites(() => undefined, voided);
    expect(await braintree.findRefund(whole, options)).toMatchObject({ kind: 'not-found' });
    expect(await braintree.getRefund('sale1', whole, options)).toMatchObject({ kind: 'not-found' });
    expect(await braintree.getPayment('sale1', options)).toMatchObject({ value: { refunds: [] } });
  });

  test('does not send the cancellation of a void, which would void the payment', async () => {
    const { braintree, seen } = await answerWrites((response) => xml(response, 200, creditXml()));
    const answer = await braintree.cancelRefund('sale1', submission, options);
    expect(answer).toMatchObject({ kind: 'refused' });
    expect(seen).toEqual([]);
  });

  test.each([
    ['settled', null],
    ['voided', null],
    ['settlement_declined', { message: expect.stringContaining('nothing to refund') }],
  ])('reads whether a payment that is %s can be refunded', async (status, unrefundable) => {
    const { braintree } = await answerWrites(() => undefined, transactionXml({ status }));
    expect(await braintree.getPayment('sale1', options)).toMatchObject({ value: { unrefundable } });
  });

  test('does not report a payment as missing when one of its refunds is', async () => {
    const { url } = await serve(({ path }, response) =>
      path.endsWith('/sale1') ? xml(response, 200, transactionXml({}, ['credit1'])) : xml(response, 404, ''),
    );
    const braintree = connect('braintree', braintreeCredentials, url);
    expect(await braintree.getPayment('sale1', options)).toMatchObject({ kind: 'unavailable' });
  });

  test('classifies a host whose addresses all refuse the connection as unavailable', async () => {
    const { url, close } = await serve(() => undefined);
    await close();
    const braintree = connect('braintree', braintreeCredentials, url.replace('127.0.0.1', 'localhost'));
    expect(await braintree.createRefund(submission, options)).toMatchObject({ kind: 'unavailable' });
  });
});

describe.each(braintreeVariants)('payments that have not settled: $title', (variant) => {
  const { control, processor, payment, moved } = useProcessor(variant);
  const unsettledSale = () => payment({ status: 'submitted_for_settlement' });

  test.each(['authorized', 'submitted_for_settlement'])(
    'the whole of a payment that is %s is given back by voiding it, once',
    async (status) => {
      const id = await payment({ status });
      const submission = submissionFor(id, { amount: 5_000n });
      const refund = {
        ...{ id, amount: 5_000n, currency: 'usd', state: 'completed', processorStatus: 'voided' },
        ...{ refundId: submission.refundId, requestDigest: null, failure: null },
        arrival: { kind: 'reversal', reference: null, referenceType: null },
      };
      expect(await processor.createRefund(submission, options)).toEqual({ kind: 'accepted', refund });
      const found = { kind: 'found', value: refund };
      expect(await processor.getRefund(id, submission, options)).toEqual(found);
      expect(await processor.findRefund(submission, options)).toEqual(found);
      const value = { refunds: [{ id, amount: 5_000n, state: 'completed', refundId: null }] };
      expect(await processor.getPayment(id, options)).toMatchObject({ value });
      const again = await processor.createRefund(submissionFor(id, { amount: 5_000n }), options);
      expect(again).toMatchObject({ kind: 'rejected', failure: { code: 'already_refunded' } });
      const part = await processor.findRefund(submissionFor(id), options);
      expect(part).toMatchObject({ kind: 'not-found' });
      await expect(control.changeTransaction(id, { status: 'settled' })).rejects.toThrow('a void is final');
      expect(await moved(id)).toMatchObject([{ id, amount: 5_000, status: 'voided' }]);
    },
  );

  test('delays a partial refund', async () => {
    const id = await unsettledSale();
    const submission = submissionFor(id);
    expect(await processor.createRefund(submission, options)).toMatchObject({
      ...{ kind: 'unavailable', cause: 'payment_unsettled', retryAfterMs: 3_600_000 },
      failure: { code: 'unsettled', message: expect.stringContaining('only after') },
    });
    expect(await moved(id)).toEqual([]);
    await control.changeTransaction(id, { status: 'settled' });
    expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
  });

  test('refunds nothing of a payment that was settled in parts: its void would not return them', async () => {
    const id = await payment({ status: 'settled_in_parts' });
    const failure = { code: 'settled_in_parts', message: expect.stringContaining(`${id}-part`) };
    const answer = await processor.createRefund(submissionFor(id, { amount: 5_000n }), options);
    expect(answer).toMatchObject({ kind: 'rejected', failure });
    const value = { refunds: [], unrefundable: failure };
    expect(await processor.getPayment(id, options)).toMatchObject({ value });
    expect(await moved(id)).toEqual([]);
  });

  test.each(['timeout', 'reset', 'error-500', 'malformed'])(
    '%s while reading the payment before a refund is unavailable, because nothing was sent',
    async (kind) => {
      const id = await payment();
      await control.fault({ processor: 'braintree', operation: 'transaction.get', kind, delayMs: 2_000 });
      const answer = await processor.createRefund(submissionFor(id), { timeoutMs: 400 });
      expect(answer).toMatchObject({ kind: 'unavailable' });
      expect(await moved(id)).toEqual([]);
    },
  );
});

describe('the list of refunds', () => {
  const [variant] = braintreeVariants;
  if (variant === undefined) throw new Error('There is no variant of Braintree.');
  const { processor, payment } = useProcessor(variant);

  test('has a voided sale by the time of the void', async () => {
    const id = await payment({ status: 'submitted_for_settlement', createdAt: '2026-01-01T00:00:00Z' });
    await processor.createRefund(submissionFor(id, { amount: 5_000n }), options);
    const voided = { id, amount: 5_000n, state: 'completed', refundId: null, transactionIds: [id] };
    expect((await listAll(processor, windowAroundNow(5))).refunds).toMatchObject([voided]);
  });

  /** A list whose searches for credits are cut off when they cover a second, in which there is much. */
  const listOf = (isCutOff: (min: number, max: number) => boolean) => {
    const spans: string[] = [];
    const client = {
      async searchIds({ createdAt }: { createdAt?: { min: string; max: string } }) {
        const [min, max] = [createdAt?.min, createdAt?.max].map((at) => Date.parse(at ?? '') / 1000);
        if (min === undefined || max === undefined || createdAt === undefined)
          return { searchResults: { ids: [] } };
        spans.push(`${min}-${max}`);
        return { searchResults: { ids: isCutOff(min, max) ? Array(10_000).fill('x') : [] } };
      },
      searchPage: async () => ({ creditCardTransactions: {} }),
      find: async () => ({}),
    };
    const list: typeof processor.listRefunds = (window, limits) => listRefunds(() => client, window, limits);
    return { listRefunds: list, spans };
  };

  test('leaves out a refund in a currency that is not known', async () => {
    const credit = (id: string, currencyIsoCode: string) => ({
      ...{ id, currencyIsoCode, type: 'credit', status: 'settled', amount: '1.00' },
      refundedTransactionId: 'sale1',
    });
    const client = {
      searchIds: async ({ createdAt }: { createdAt?: object }) => ({
        searchResults: { ids: createdAt === undefined ? [] : ['credit1', 'credit2', 'credit3'] },
      }),
      searchPage: async () => ({
        creditCardTransactions: { transaction: [credit('credit1', 'XTS'), credit('credit2', 'USD')] },
      }),
      find: async (id: string) => credit(id, 'XTS'),
    };
    const list: typeof processor.listRefunds = (window, limits) => listRefunds(() => client, window, limits);
    const { refunds } = await listAll({ listRefunds: list }, windowAroundNow(5));
    expect(refunds.map(({ id }) => id)).toEqual(['credit2']);
  });

  test('splits a search that may have been cut off', async () => {
    const list = listOf((min, max) => min <= 3 && max >= 3 && min !== max);
    const { refunds } = await listAll(list, { from: new Date(0), to: new Date(8_000) });
    expect(refunds).toEqual([]);
    expect(list.spans).toEqual(['0-7', '0-3', '0-1', '2-3', '2-2', '3-3', '4-7']);
  });

  test('fails when one second has more than a search can return', async () => {
    const answer = await listOf(() => true).listRefunds({ from: new Date(0), to: new Date(1_000) }, options);
    const failure = { message: expect.stringContaining('one second') };
    expect(answer).toMatchObject({ kind: 'unavailable', failure });
  });
});
