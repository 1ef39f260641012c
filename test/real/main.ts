import { spawnSync } from 'node:child_process';
import { readTestSettings, SettingsError } from './settings.ts';

// npm run test:real: the contract of the adapters, against the processors' own test environments.

/** The exit code when nothing was tested. */
const nothingTested = 2;

try {
  const { stripe, braintree, sandbox, recordings } = readTestSettings(process.env);
  const left = [
    ...(stripe === null ? ['Stripe: set STRIPE_TEST_KEY, a key that starts with sk_test_.'] : []),
    ...(braintree === null
      ? [
          'Braintree: set BRAINTREE_MERCHANT_ID, BRAINTREE_PUBLIC_KEY and BRAINTREE_PRIVATE_KEY of a sandbox account.',
        ]
      : []),
  ];
  for (const line of left) console.log(`Not tested. ${line}`);
  if (stripe === null && braintree === null) {
    console.log('Nothing was tested. docs/testing-against-processors.md says what the tests touch.');
    process.exitCode = nothingTested;
  } else {
    console.log(
      `Testing ${sandbox ?? "the processors' own test environments"}. ${recordings === null ? 'Nothing is recorded.' : `Recordings go to ${recordings}.`}`,
    );
    const vitest = [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--reporter=verbose',
      '--disable-console-intercept',
    ];
    const { status } = spawnSync(process.execPath, vitest, {
      stdio: 'inherit',
      env: { ...process.env, TEST_REAL: 'true' },
    });
    process.exitCode = status ?? 1;
  }
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
