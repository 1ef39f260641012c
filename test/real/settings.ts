import type { ProxySettings } from '#shared/platform/outgoing/proxy.ts';
import { accountId } from '#shared/processors/stripe/client.ts';

/** What the tests against real test environments use. */
export interface TestSettings {
  /** With an account that is connected to that of the key, to be tested as well. */
  stripe: { key: string; connectedAccount: string | null } | null;
  braintree: { merchantId: string; publicKey: string; privateKey: string } | null;
  /** The address of a sandbox in place of the processors' own hosts; null for those. */
  sandbox: string | null;
  /** The proxy to the processors' hosts. */
  proxies: ProxySettings;
  /** The folder for recordings; null to keep none. */
  recordings: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Credentials that cannot be used; the message is one line for the person at the terminal. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** @throws SettingsError for live credentials, and for some of Braintree's alone. */
export function readTestSettings(env: Environment): TestSettings {
  const sandbox = env.TEST_REAL_API_BASE || null;
  const key = env.STRIPE_TEST_KEY || null;
  if (key !== null && !/^(sk|rk)_test_\w+$/.test(key)) {
    throw new SettingsError('STRIPE_TEST_KEY is not a test key: it has to start with sk_test_ or rk_test_.');
  }
  const connectedAccount = env.STRIPE_TEST_CONNECTED_ACCOUNT || null;
  if (connectedAccount !== null && !accountId.test(connectedAccount)) {
    throw new SettingsError('STRIPE_TEST_CONNECTED_ACCOUNT is not the ID of an account, such as acct_...');
  }
  return {
    stripe: key === null ? null : { key, connectedAccount },
    braintree: braintreeOf(env),
    proxies: {
      HTTPS_PROXY: env.HTTPS_PROXY || null,
      HTTP_PROXY: env.HTTP_PROXY || null,
      NO_PROXY: env.NO_PROXY ?? '',
    },
    sandbox,
    // What the sandbox answers is no proof of what the processors answer.
    recordings: env.TEST_REAL_RECORDINGS || (sandbox === null ? 'test/recordings' : null),
  };
}

function braintreeOf(env: Environment): TestSettings['braintree'] {
  const {
    BRAINTREE_MERCHANT_ID: merchantId,
    BRAINTREE_PUBLIC_KEY: publicKey,
    BRAINTREE_PRIVATE_KEY: privateKey,
  } = env;
  if (!merchantId && !publicKey && !privateKey) return null;
  // Only Braintree knows which environment keys belong to, so they are sent to its sandbox alone, which refuses live ones.
  if (merchantId && publicKey && privateKey) return { merchantId, publicKey, privateKey };
  throw new SettingsError(
    'Set all of BRAINTREE_MERCHANT_ID, BRAINTREE_PUBLIC_KEY and BRAINTREE_PRIVATE_KEY, or none.',
  );
}
