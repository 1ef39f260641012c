import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { setProvider } from '#shared/people/company-sign-in/provider.ts';
import { newId } from '#shared/platform/ids.ts';
import { DashboardVisitor, type Page } from '../dashboard/dashboard-visitor.ts';
import type { TestService } from '../service.ts';
import { passThrough, startIdentityProvider, type TestProvider } from './identity-provider.ts';

export const startOf = (organizationId: string) => `/dashboard/sign-in/company/${organizationId}`;
export const pagesOf = (organizationId: string) => `/dashboard/${organizationId}/test/refunds`;

/** A provider for all tests of a file, and for each test an organization that uses it. Its next account is in the group `support`. */
export function useCompanySignIn(service: TestService) {
  let provider: TestProvider;
  let organizationId: string;

  beforeAll(async () => {
    provider = await startIdentityProvider();
  });
  afterAll(() => provider.close());

  beforeEach(async () => {
    organizationId = await organizationWithProvider();
    actAs(['support']);
  });

  async function organizationWithProvider(): Promise<string> {
    const { id } = await service.addOrganization('With a provider');
    await setProvider(service.deps, { organizationId: id, actor: 'test', settings: provider.settings });
    return id;
  }

  /** The account that the provider signs in next. */
  function actAs(
    groups: string[],
    account: { sub?: string; email?: string; email_verified?: boolean } = {},
  ): void {
    const sub = newId('usr');
    provider.account = { sub, email: `${sub}@example.com`, email_verified: true, groups, ...account };
  }

  /**
   * Begins a sign-in with the provider.
   * @param change alters the address that the service sends the browser to.
   * @returns the callback that the provider leads to.
   */
  async function begin(
    visitor: DashboardVisitor,
    { at = organizationId, query = '', change = (address: string) => address } = {},
  ): Promise<string> {
    const start = await visitor.get(`${startOf(at)}${query}`);
    expect(start.status).toBe(303);
    const callback = await passThrough(provider, change(String(start.headers.location)));
    return callback.replace('http://localhost', '');
  }

  const signIn = async (
    visitor: DashboardVisitor,
    options: Parameters<typeof begin>[1] = {},
  ): Promise<Page> => await visitor.get(await begin(visitor, options));

  return {
    ...{ organizationWithProvider, actAs, begin, signIn },
    newVisitor: () => new DashboardVisitor(service),
    /** The memberships of all users with an address, by default that of the provider's account. */
    membersByEmail: (email = provider.account.email) =>
      service.deps.db.membership.findMany({ where: { user: { email } } }),
    get provider() {
      return provider;
    },
    get organizationId() {
      return organizationId;
    },
  };
}
