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
import { InvalidCredentialsError, type ProcessorKind } from '../contract/processor.ts';
import { StripeProcessor } from './adapter.ts';
import { amountProblem } from './amounts.ts';
import {
  accessTo,
  accountId,
  isNameOfPayment,
  isPaymentId,
  type StripeCredentials,
  stripeClient,
} from './client.ts';
import { mapStatus } from './replies.ts';
import { webhookSecretsOf } from './verify-webhook.ts';

const signingSecret = secretText.regex(
  /^whsec_./,
  'has to be the signing secret of a webhook endpoint, which starts with whsec_',
);

const credentialsInput = z.strictObject({
  secretKey: secretText.clone().register(credentialForms, {
    label: 'Secret key',
    type: 'secret',
    hint: "In Stripe's dashboard under Developers, API keys. A restricted key works as well.",
    example: 'sk_test_...',
  }),
  webhookSecret: signingSecret.optional().register(credentialForms, {
    label: 'Signing secret of the webhook',
    type: 'secret',
    hint: 'Starts with whsec_. Without it, webhooks of the account are refused.',
    example: 'whsec_...',
  }),
  connectWebhookSecret: signingSecret.optional().register(credentialForms, {
    label: 'Signing secret of the webhook for connected accounts',
    type: 'secret',
    hint: 'For a platform: Stripe sends the events of its connected accounts to an endpoint of their own. Use the same address.',
  }),
  apiBase: apiBaseInput,
});

const keyPrefixes: Readonly<Record<Environment, RegExp>> = {
  test: /^(sk|rk)_test_./,
  live: /^(sk|rk)_live_./,
};

/** Stripe has one address; the key decides the environment. */
const apiBases: Readonly<Record<Environment, string>> = {
  test: 'https://api.stripe.com',
  live: 'https://api.stripe.com',
};

export const stripeKind: ProcessorKind<StripeCredentials> = {
  name: 'stripe',
  displayName: 'Stripe',
  credentialFields: credentialFieldsOf(credentialsInput),
  credentialsNote:
    'webhookSecret is the signing secret of the webhook endpoint at Stripe. Without it the account accepts no webhooks.',
  keepsMetadata: true,
  refundState: mapStatus,
  refundOptions: ['reverseTransfer', 'refundApplicationFee', 'instructionsEmail'],
  connectedAccountId: accountId,
  idPrefixes: ['ch_', 'pi_', 'py_', 're_', 'pyr_'],
  recognizes: isId,
  couldBe: isId,
  parseCredentials(input, environment) {
    const { secretKey, apiBase, ...secrets } = readCredentials(credentialsInput, input);
    if (!keyPrefixes[environment].test(secretKey)) {
      throw new InvalidCredentialsError(
        `secretKey: the ${environment} environment takes keys that start with sk_${environment}_ or rk_${environment}_.`,
      );
    }
    return {
      secretKey,
      apiBase: readApiBase(apiBase, environment, apiBases),
      ...secrets,
    };
  },
  amountProblem,
  paymentPage: (transactionId, environment) => {
    // A checkout session has no page.
    if (transactionId.startsWith('cs_')) return undefined;
    const kind = transactionId.startsWith('in_') ? 'invoices' : 'payments';
    return `https://dashboard.stripe.com/${environment === 'test' ? 'test/' : ''}${kind}/${encodeURIComponent(transactionId)}`;
  },
  // A refund on its way to the bank cannot be cancelled.
  mayCancel: ({ processorStatus }) => processorStatus === null || processorStatus === 'requires_action',
  // Stripe lists a refund as soon as it exists, but may still be working on a request whose client has gone: its own clients wait
  // 80 s. The idempotency key would protect another attempt, but neither a cancellation nor a refund that is given up.
  settleDelayMs: 90_000,
  webhooks: {
    mediaType: 'application/json',
    challengeParameter: null,
    setUp:
      'Choose refund.created, refund.updated, refund.failed, charge.refunded, charge.dispute.created, charge.dispute.updated and charge.dispute.closed, and store the signing secret with the credentials.',
  },
  secretsOf: ({ secretKey, webhookSecret, connectWebhookSecret }) =>
    [secretKey, webhookSecret, connectWebhookSecret].filter((secret) => secret !== undefined),
  connect(credentials, proxies) {
    const stripe = stripeClient(credentials, proxies);
    const webhookSecrets = webhookSecretsOf(credentials);
    return (connectedAccount) => {
      if (connectedAccount !== null && !accountId.test(connectedAccount)) {
        throw new TypeError('That is not the id of a connected account of Stripe.');
      }
      return new StripeProcessor(accessTo(stripe, connectedAccount), webhookSecrets);
    };
  },
};

function isId(id: string): boolean {
  return isPaymentId(id) || isNameOfPayment(id);
}
