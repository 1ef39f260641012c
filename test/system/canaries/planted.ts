import { randomBytes } from 'node:crypto';
import { generateApiKey } from '#shared/organizations/api-keys.ts';
import { type Canary, newCanary, newCard } from '../../support/http/canaries.ts';

/** Secrets that must appear nowhere, one for each place where they are entered. */
export const secrets = {
  databasePassword: newCanary('the password of the database'),
  redisPassword: newCanary('the password of Redis'),
  encryptionKey: { what: 'ENCRYPTION_KEY', text: randomBytes(32).toString('base64') },
  wrongEncryptionKey: newCanary('an invalid ENCRYPTION_KEY'),
  stripeKey: newCanary('a Stripe secret key', 'sk_test_'),
  restrictedKey: newCanary('a restricted Stripe key', 'rk_live_'),
  publicKey: newCanary('a Braintree public key'),
  privateKey: newCanary('a Braintree private key'),
  webhookSecret: newCanary('a webhook secret, which a processor repeats', 'whsec_'),
  clientSecret: newCanary('a client secret in place of the id of a payment, which a processor repeats'),
  badCredential: newCanary('rejected credentials'),
  dashboardPassword: newCanary('the password of a user'),
  triedPassword: newCanary('a wrong password'),
  sessionId: newCanary('the session id of a cookie'),
  unknownKey: { what: 'an unknown API key', text: generateApiKey('live') },
  keyInQuery: { what: 'an API key in a query', text: generateApiKey('live') },
  keyInPath: { what: 'an API key in a path', text: generateApiKey('test') },
  keyInBody: { what: 'an API key as the name of a field', text: generateApiKey('live') },
  basicPassword: { what: 'an Authorization header of another scheme', text: newCanary('').text },
  argument: newCanary('a Stripe key as an argument of the command line', 'sk_live_'),
} satisfies Record<string, Canary>;

export const clientSecret = `pi_3Test_secret_${secrets.clientSecret.text}`;

/** Card numbers that must appear nowhere. */
export const cards = {
  inQuery: newCard('a card in the query'),
  inPath: newCard('a card in the path'),
  inHeader: newCard('a card in a header'),
  inName: newCard('a card as the name of a field'),
  inNumber: newCard('a card as a number that is too large', 19),
  inProcessorWords: newCard("a card in a processor's message"),
  inReason: newCard('a card in the reason of a rejection'),
  inDatabaseError: newCard('a card in an error of PostgreSQL'),
  inCurrency: newCard('a card as a currency'),
  inIdempotencyKey: newCard('a card as an Idempotency-Key'),
};

/** Data of a client, which is stored only in its own columns. */
export const owned = {
  metadata: {
    canary: newCard('a card in metadata'),
    columns: ['public.refund.metadata', 'public.refund_work.sent_metadata'],
  },
  transactionId: {
    canary: newCard('a card as a transaction id'),
    columns: ['public.refund.transaction_id', 'public.payment_name.name', 'public.payment.external_id'],
  },
} satisfies Record<string, { canary: Canary; columns: readonly string[] }>;

/** Columns of bytes: encrypted, hashed, or the salt of a hash. */
export const sealedColumns = [
  'public.api_key.hash',
  'public.identity_provider.encrypted_client_secret',
  'public.invitation.token_hash',
  'public.lockout.subject',
  'public.mailed_link.token_hash',
  'public.notification_channel.encrypted_url',
  'public.processor_account.encrypted_credentials',
  'public.refund.fingerprint',
  'public.refund_batch.fingerprint',
  'public.refund_event.hash',
  'public.refund_event.words_digest',
  'public.refund_event.words_salt',
  'public.second_factor.encrypted_secret',
  'public.session.hash',
  'public.timeline_root.root',
  'public.webhook_endpoint.encrypted_previous_secret',
  'public.webhook_endpoint.encrypted_secret',
];

export const forbidden: Canary[] = [...Object.values(secrets), ...Object.values(cards)];
export const everything: Canary[] = [...forbidden, ...Object.values(owned).map(({ canary }) => canary)];
