import { describe, expect, test } from 'vitest';
import type { RefundOptions } from '#shared/processors/contract/refund-options.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { madeBeforeTests } from '../../made-before-tests.ts';
import { submissionFor } from '../../refunds/refund-records.ts';
import { connect, options, type ProcessorVariant, useProcessor } from '../processor-variants.ts';
import { listAll, windowAroundNow } from './listing.ts';

const connectedAccount = 'acct_seller1';

/** What is done on behalf of connected accounts, and what a refund takes from them. */
export function describeConnect(variant: ProcessorVariant): void {
  const { name, credentials } = variant;
  if (processorKind(name).connectedAccountId === null) {
    test(`${name} is never used for a connected account, which it does not have`, () => {
      const url = 'http://127.0.0.1:9';
      expect(() => connect(name, credentials, url, undefined, connectedAccount)).toThrow(TypeError);
    });
    return;
  }
  describe(`connected accounts: ${variant.title}`, () => {
    const { sandbox, control, processor, payment, everyCall } = useProcessor(variant);
    const connected = madeBeforeTests('The adapter', () => inBehalfOf(connectedAccount));
    const inBehalfOf = (account: string) => connect(name, credentials, sandbox.url, undefined, account);
    const moved = (transactionId: string, account?: string) =>
      control.refunds({ processor: name, transactionId, ...(account && { connectedAccount: account }) });

    /** A refund of 15.00 of 50.00 USD, unless told. */
    const refund = async (
      fields: Record<string, unknown>,
      asked: RefundOptions,
      { amount = 1_500n, by = processor } = {},
    ) => {
      const transactionId = await payment(fields);
      const submission = submissionFor(transactionId, { amount, options: asked });
      return { transactionId, submission, answer: await by.createRefund(submission, options) };
    };

    test('what belongs to a connected account is found there alone, and what does not is not', async () => {
      const own = await payment();
      const theirs = await payment({ connectedAccount });
      const read = async (by: typeof processor, id: string) => (await by.getPayment(id, options)).kind;
      expect(await Promise.all([read(processor, own), read(connected, theirs)])).toEqual(['found', 'found']);
      expect(await Promise.all([read(connected, own), read(processor, theirs)])).toEqual([
        'not-found',
        'not-found',
      ]);
      const missing = { kind: 'rejected', missing: true };
      expect(await connected.createRefund(submissionFor(own), options)).toMatchObject(missing);
      expect(await processor.createRefund(submissionFor(theirs), options)).toMatchObject(missing);
    });

    test('a refund of a connected account is made, looked up, read, listed and cancelled there', async () => {
      const fields = { connectedAccount, ...variant.cancellable };
      const { transactionId, submission, answer } = await refund(fields, {}, { by: connected });
      if (answer.kind !== 'accepted') throw new Error(answer.kind);
      const { id } = answer.refund;
      expect(await moved(transactionId, connectedAccount)).toMatchObject([{ id, amount: 1_500 }]);
      expect(await moved(transactionId)).toEqual([]);
      const found = { kind: 'found', value: { id } };
      expect(await connected.findRefund(submission, options)).toMatchObject(found);
      expect(await connected.getRefund(id, submission, options)).toMatchObject(found);
      expect(await processor.getRefund(id, submission, options)).toMatchObject({ kind: 'not-found' });
      const listed = async (by: typeof processor) =>
        (await listAll(by, windowAroundNow(5))).refunds.map((each) => each.id);
      expect(await listed(connected)).toContain(id);
      expect(await listed(processor)).not.toContain(id);
      expect(await processor.cancelRefund(id, submission, options)).toMatchObject({ kind: 'refused' });
      expect(await connected.cancelRefund(id, submission, options)).toMatchObject({ kind: 'cancelled' });
    });

    test('an account that is not connected is refused as a whole, in every call', async () => {
      const revoked = 'acct_revoked';
      await control.account(revoked, { isConnected: false });
      for (const account of [revoked, 'acct_missing']) {
        const answers = await everyCall(inBehalfOf(account), variant.ids.payment);
        const refused = { kind: 'misconfigured', scope: 'credentials', failure: { code: 'account_invalid' } };
        expect(answers).toMatchObject(answers.map(() => refused));
        expect(await inBehalfOf(account).probe('refund', options)).toMatchObject(refused);
      }
    });

    test('the text of an account is never sent as a header unless it is an id', () => {
      for (const account of ['', 'acct_', 'acct_1\r\nx: y', 'cus_1', 'acct_1/..']) {
        expect(() => inBehalfOf(account), account).toThrow(TypeError);
      }
    });

    test.each([
      ['neither', {}, { hasTransfer: false, transferDestination: null, applicationFee: false }],
      [
        'a transfer',
        { transferTo: 'acct_seller2' },
        { hasTransfer: true, transferDestination: 'acct_seller2', applicationFee: false },
      ],
      [
        'a transfer and a fee',
        { transferTo: 'acct_seller2', applicationFee: 500 },
        { hasTransfer: true, transferDestination: 'acct_seller2', applicationFee: true },
      ],
    ])('a payment tells that it has %s', async (_, fields, value) => {
      const answer = await processor.getPayment(await payment(fields), options);
      expect(answer).toMatchObject({ kind: 'found', value });
    });

    test('a payment of a connected account tells that the platform took a fee', async () => {
      const id = await payment({ connectedAccount, applicationFee: 500 });
      const value = { hasTransfer: false, transferDestination: null, applicationFee: true };
      expect(await connected.getPayment(id, options)).toMatchObject({ kind: 'found', value });
    });

    test.each<[string, RefundOptions, number, number]>([
      ['nothing unless asked', {}, 0, 0],
      ['nothing when told so', { reverseTransfer: false, refundApplicationFee: false }, 0, 0],
      ['the share of the transfer', { reverseTransfer: true }, 1_500, 0],
      ['the shares of both', { reverseTransfer: true, refundApplicationFee: true }, 1_500, 150],
    ])('a refund takes back %s', async (_, asked, transferReversed, applicationFeeRefunded) => {
      const fields = { transferTo: 'acct_seller2', applicationFee: 500 };
      const { transactionId, submission, answer } = await refund(fields, asked);
      expect(answer).toMatchObject({ kind: 'accepted' });
      const once = [{ amount: 1_500, transferReversed, applicationFeeRefunded }];
      expect(await moved(transactionId)).toMatchObject(once);
      expect(await processor.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      expect(await moved(transactionId)).toMatchObject(once);
    });

    test('a repeated refund with other options is refused, and moves nothing', async () => {
      const { transactionId, submission } = await refund({ transferTo: 'acct_seller2' }, {});
      const other = { ...submission, options: { reverseTransfer: true } };
      expect(await processor.createRefund(other, options)).toMatchObject({ keyRefused: true });
      expect(await moved(transactionId)).toMatchObject([{ transferReversed: 0 }]);
    });

    test.each<[string, Record<string, unknown>, RefundOptions, RegExp]>([
      ['a transfer', {}, { reverseTransfer: true }, /transfer/],
      ['a fee', { transferTo: 'acct_seller2' }, { refundApplicationFee: true, reverseTransfer: true }, /fee/],
    ])(
      'a refund of a payment without %s cannot take it back, and is rejected',
      async (_, fields, asked, words) => {
        const { transactionId, answer } = await refund(fields, asked);
        expect(answer).toMatchObject({
          kind: 'rejected',
          failure: { message: expect.stringMatching(words) },
        });
        expect(await moved(transactionId)).toEqual([]);
      },
    );

    test('a refund waits for the balance of the connected account that pays it', async () => {
      await control.account(connectedAccount, { balance: 1_499 });
      const { submission, answer } = await refund({ connectedAccount }, {}, { by: connected });
      const waiting = { state: 'open', waitsFor: 'insufficient_balance' };
      expect(answer).toMatchObject({ kind: 'accepted', refund: waiting });
      await control.account(connectedAccount, { balance: 2_000 });
      const read = await connected.findRefund(submission, options);
      expect(read).toMatchObject({ kind: 'found', value: { state: 'open' } });
      expect(read).not.toMatchObject({ value: { waitsFor: 'insufficient_balance' } });
      expect(await control.account(connectedAccount, {})).toMatchObject({ balance: 500 });
      await control.account(connectedAccount, { balance: null });
    });

    test('a refund is not made while the connected account cannot give its transfer back', async () => {
      const transferTo = 'acct_poor';
      await control.account(transferTo, { balance: 1_499 });
      const { transactionId, answer, submission } = await refund({ transferTo }, { reverseTransfer: true });
      expect(answer).toMatchObject({ kind: 'unavailable', cause: 'insufficient_balance' });
      expect(await moved(transactionId)).toEqual([]);
      await control.account(transferTo, { balance: 1_500 });
      const again = { ...submission, idempotencyKey: `${submission.refundId}-1` };
      expect(await processor.createRefund(again, options)).toMatchObject({ kind: 'accepted' });
      expect(await control.account(transferTo, {})).toMatchObject({ balance: 0 });
    });
  });
}
