import { z } from 'zod';
import {
  apiBaseInput,
  credentialFieldsOf,
  credentialForms,
  readApiBase,
  readCredentials,
  secretText,
} from '#shared/processors/contract/credentials.ts';
import type { ProcessorKind } from '#shared/processors/contract/processor.ts';
import { type EventpayCredentials, EventpayProcessor, refundState } from './adapter.ts';

const credentialsInput = z.strictObject({
  account: secretText
    .clone()
    .register(credentialForms, { label: 'Account', type: 'secret', hint: 'Test or live.' }),
  secret: secretText
    .clone()
    .register(credentialForms, { label: 'Secret', type: 'secret', hint: 'Signs requests and events.' }),
  apiBase: apiBaseInput,
});

const own = { test: 'https://test.eventpay.example', live: 'https://eventpay.example' };

/** Eventpay, which only tests have: events alone settle its refunds, and it looks nothing up. */
export const eventpayKind: ProcessorKind<EventpayCredentials> = {
  name: 'eventpay',
  displayName: 'Eventpay',
  credentialFields: credentialFieldsOf(credentialsInput),
  capabilities: { findsRefunds: false, readsRefunds: false, listsRefunds: false, keepsMetadata: false },
  refundState,
  recognizes: (id) => /^ep_\w+$/.test(id),
  couldBe: (id) => /^ep_\w+$/.test(id),
  parseCredentials(input, environment) {
    const { apiBase, ...keys } = readCredentials(credentialsInput, input);
    return { ...keys, apiBase: readApiBase(apiBase, environment, own) };
  },
  amountProblem: () => null,
  mayCancel: () => false,
  settleDelayMs: 60_000,
  webhooks: { mediaType: 'application/json', challengeParameter: null, setUp: 'Send every event.' },
  secretsOf: ({ secret }) => [secret],
  connect: (credentials) => new EventpayProcessor(credentials),
};
