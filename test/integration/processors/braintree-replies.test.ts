import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { creditXml, transactionXml } from '../../support/processors/processor-replies.ts';
import {
  braintreeCredentials,
  braintreeVariants,
  connect,
} from '../../support/processors/processor-variants.ts';
import { useScriptedServers, xml } from '../../support/processors/scripted-server.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';

const options = { timeoutMs: 5_000 };

const serve = useScriptedServers();

describe('Braintree on the wire', () => {
  const submission = submissionFor('sale1');
  const answerWrites = (write: (response: ServerResponse) => void, sale: string = transactionXml({})) =>
    serve((call, response) => (call.method === 'GET' ? xml(response, 200, sale) : write(response)));

  test('sends the amount in decimals, our refund id, and a key only where keys are enabled', async () => {
    const { url, seen } = await answerWrites((response) => xml(response, 201, creditXml()));
    for (const variant of braintreeVariants) {
      await connect('braintree', variant.credentials, url).createRefund(submission, options);
    }
    const refund = { amount: '15.00', order_id: submission.refundId };
    const posts = seen.filter(({ method }) => method === 'POST');
    expect(posts.map(({ path }) => path)).toEqual(
      Array(2).fill('/merchants/merchant/transactions/sale1/refund'),
    );
    expect(posts.map(({ body }) => JSON.parse(body))).toEqual([
      { transaction: refund },
      { transaction: { ...refund, api_request_key: submission.idempotencyKey } },
    ]);
  });

  test.each([
    ['another amount', creditXml({ amount: '15.01' }), 'mismatched'],
    ['another currency', creditXml({ 'currency-iso-code': 'EUR' }), 'mismatched'],
    ['a refund of another payment', creditXml({ 'refunded-transaction-id': 'sale2' }), 'unknown'],
    ['a payment', transactionXml({}), 'unknown'],
    ['an amount that is none', creditXml({ amount: 'many' }), 'unknown'],
    ['an unknown currency', creditXml({ 'currency-iso-code': 'ZZZ' }), 'unknown'],
    ['something else', '<unexpected/>', 'unknown'],
    ['blanks', '  ', 'unknown'],
    ['nothing', '', 'unknown'],
    ['broken XML', '<transaction><id>', 'unknown'],
  ])('does not accept a submission with %s', async (_, reply, kind) => {
    const { url } = await answerWrites((response) => xml(response, 201, reply));
    const answer = await connect('braintree', braintreeCredentials, url).createRefund(submission, options);
    expect(answer).toMatchObject(kind === 'unknown' ? { kind, replied: true } : { kind });
  });

  test('classifies an HTML page as unknown', async () => {
    const { url } = await answerWrites((response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html></html>');
    });
    const braintree = connect('braintree', braintreeCredentials, url);
    expect(await braintree.createRefund(submission, options)).toMatchObject({ kind: 'unknown' });
  });

  test('refunds in the next attempt when a void comes too late', async () => {
    const { url, seen } = await answerWrites(
      (response) =>
        xml(
          response,
          422,
          '<api-error-response><errors><transaction><errors type="array"><error><code>91504</code><attribute>base' +
            '</attribute><message>Too late.</message></error></errors></transaction></errors><message>Too late.</message></api-error-response>',
        ),
      transactionXml({ status: 'authorized' }),
    );
    const braintree = connect('braintree', braintreeCredentials, url);
    expect(await braintree.createRefund({ ...submission, amount: 5_000n }, options)).toMatchObject({
      kind: 'unavailable',
    });
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'PUT']);
  });

  test('does not send the cancellation of a void, which would void the payment', async () => {
    const { url, seen } = await answerWrites((response) => xml(response, 200, creditXml()));
    const braintree = connect('braintree', braintreeCredentials, url);
    expect(await braintree.cancelRefund('sale1', submission, options)).toMatchObject({
      kind: 'refused',
    });
    expect(seen).toEqual([]);
  });

  test.each([
    ['settled', null],
    ['authorized', null],
    ['voided', null],
    [
      'settlement_declined',
      { code: 'settlement_declined', message: expect.stringContaining('nothing to refund') },
    ],
    ['processor_declined', { code: 'processor_declined' }],
  ])('reads whether a payment that is %s can be refunded', async (status, unrefundable) => {
    const { url } = await serve((_, response) => xml(response, 200, transactionXml({ status })));
    const braintree = connect('braintree', braintreeCredentials, url);
    expect(await braintree.getPayment('sale1', options)).toMatchObject({ value: { unrefundable } });
  });

  test('does not report a payment as missing when one of its refunds is', async () => {
    const { url } = await serve((call, response) =>
      call.path.endsWith('/sale1')
        ? xml(response, 200, transactionXml({}, ['credit1']))
        : xml(response, 404, ''),
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
