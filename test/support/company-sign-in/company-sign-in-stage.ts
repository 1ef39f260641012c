import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { setProvider } from '#shared/people/company-sign-in/provider.ts';
import { newId } from '#shared/platform/ids.ts';
import { DashboardVisitor, type Page } from '../dashboard/dashboard-visitor.ts';
import type { TestService } from '../service.ts';
import { passThrough, startIdentityProvider, type TestProvider } from './identity-provider.ts';
import type { CompanyAccount, ProviderKind } from './provider-kinds.ts';

export const startOf = (organizationId: string) => `/dashboard/sign-in/company/${organizationId}`;
export const pagesOf = (organizationId: string) => `/dashboard/${organizationId}/test/refunds`;

/** Opens the link of an organization as from a page of the service. */
export const openLink = (visitor: DashboardVisitor, at: string, query = '') =>
  visitor.get(`${startOf(at)}${query}`, { 'sec-fetch-site': 'same-origin' });

/** A provider for all tests of a file or a group, and for each test an organization that uses it. Its next account is in the group `support`. */
export function useCompanySignIn(service: TestService, kind?: ProviderKind) {
  let provider: TestProvider;
  let organizationId: string;

  beforeAll(async () => {
    provider = await startIdentityProvider(kind);
  });
  afterAll(() => provider.close());

  beforeEach(async () => {
    organizationId = await organizationWithProvider();
    provider.answers = {};
    actAs(['support']);
  });

  async function organizationWithProvider(): Promise<string> {
    const { id } = await service.addOrganization('With a provider');
    await setProvider(service.deps, { organizationId: id, actor: 'test', settings: provider.settings });
    return id;
  }

  /** The account that the provider signs in next. */
  function actAs(groups: string[], account: Partial<CompanyAccount> = {}): void {
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
    const start = await openLink(visitor, at, query);
    expect(start.status).toBe(303);
    const callback = await passThrough(change(String(start.headers.location)));
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
