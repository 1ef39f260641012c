import { z } from 'zod';
import type { Environment } from '../../platform/environment.ts';
import {
  apiBaseInput,
  credentialFieldsOf,
  credentialForms,
  readApiBase,
  readCredentials,
  secretText,
} from '../contract/credentials.ts';
import type { ProcessorKind } from '../contract/processor.ts';
import { BraintreeProcessor } from './adapter.ts';
import type { BraintreeCredentials } from './client.ts';
import { isTransactionId } from './client.ts';
import { isOrderId } from './find-sale.ts';
import { mapStatus } from './replies.ts';

const key = {
  type: 'secret',
  hint: "In Braintree's control panel under the gear, API.",
  example: '...',
} as const;

const credentialsInput = z.strictObject({
  // Part of a URL path.
  merchantId: secretText
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'has to be letters and digits')
    .register(credentialForms, { label: 'Merchant ID', ...key }),
  // Sent with the private key, separated by a colon.
  publicKey: secretText
    .refine((text) => !text.includes(':'), 'has to be without a colon')
    .register(credentialForms, { label: 'Public key', ...key }),
  privateKey: secretText.clone().register(credentialForms, { label: 'Private key', ...key }),
  useApiRequestKey: z.boolean('has to be true or false').default(false).register(credentialForms, {
    label: 'Send idempotency keys',
    type: 'choice',
    hint: 'Only where Braintree has switched API request keys on for the account.',
  }),
  apiBase: apiBaseInput,
});

const apiBases: Readonly<Record<Environment, string>> = {
  test: 'https://api.sandbox.braintreegateway.com',
  live: 'https://api.braintreegateway.com',
};

/** The statuses before a credit goes to the bank. */
const revocable = new Set(['authorizing', 'authorized', 'submitted_for_settlement', 'settlement_pending']);

export const braintreeKind: ProcessorKind<BraintreeCredentials> = {
  name: 'braintree',
  displayName: 'Braintree',
  credentialFields: credentialFieldsOf(credentialsInput),
  keepsMetadata: false,
  refundOptions: [],
  connectedAccountId: null,
  refundState: mapStatus,
  // Its ids have no format of their own.
  recognizes: () => false,
  idPrefixes: [],
  couldBe: (id) => isTransactionId(id) || isOrderId(id),
  parseCredentials(input, environment) {
    const { apiBase, ...keys } = readCredentials(credentialsInput, input);
    return { ...keys, apiBase: readApiBase(apiBase, environment, apiBases) };
  },
  // Braintree uses the decimals of ISO 4217.
  amountProblem: () => null,
  // Until it settles. A void of the payment itself is final.
  mayCancel: ({ externalRefundId, transactionId, processorStatus }) =>
    externalRefundId !== transactionId && (processorStatus === null || revocable.has(processorStatus)),
  // The gateway works on a request for up to a minute, even after the client has disconnected.
  settleDelayMs: 60_000,
  webhooks: {
    mediaType: 'application/x-www-form-urlencoded',
    challengeParameter: 'bt_challenge',
    setUp:
      'Choose Refund Failed, Transaction Settled, Transaction Settlement Declined, and all kinds that begin with Dispute.',
  },
  secretsOf: ({ publicKey, privateKey }) => [
    Buffer.from(`${publicKey}:${privateKey}`).toString('base64'),
    privateKey,
    publicKey,
  ],
  connect(credentials, proxies) {
    const processor = new BraintreeProcessor(credentials, proxies);
    return (connectedAccount) => {
      // Left out of the calls, it would have another account's money moved.
      if (connectedAccount !== null) throw new TypeError('Braintree has no connected accounts.');
      return processor;
    };
  },
};
