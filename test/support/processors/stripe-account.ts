import { afterEach } from 'vitest';
import { loadAccount } from '#shared/processors/accounts/connections.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import type { TestService } from '../service.ts';

/** Gives a test file the Stripe account of a service's organization, which has its right key again after each test. */
export function useStripeAccount(service: TestService) {
  const account = () =>
    ({ organizationId: service.organization.id, environment: 'test', processor: 'stripe' }) as const;
  const read = async () => await loadAccount(service.deps.db, account());
  const setKey = async (secretKey: string) => {
    const { apiBase } = sandboxCredentials('test', service.sandboxUrl).stripe;
    await setProcessorAccount(service.deps, {
      ...account(),
      credentials: { secretKey, apiBase },
      actor: 'test',
    });
  };
  afterEach(() => setKey('sk_test_sandbox'));
  return {
    read,
    setKey,
    /** Whether its credentials were refused. */
    isMarked: async () => (await read()).misconfiguredAt !== null,
  };
}
