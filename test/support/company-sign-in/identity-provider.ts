import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type AccountClaims } from 'oidc-provider';

/** Who signs in at the provider, with the claims of the ID token. */
export interface CompanyAccount {
  sub: string;
  email: string;
  email_verified: boolean;
  groups: string[];
}

/** A real OpenID Connect provider that signs in whoever is its current account, without a page. */
export interface TestProvider {
  issuer: string;
  /** The settings of an organization that uses it. */
  settings: { issuer: string; clientId: string; clientSecret: string; roleClaim: string; roles: object };
  account: CompanyAccount;
  close(): Promise<void>;
}

/** Starts a provider that leads back to the callback of any organization. */
export async function startIdentityProvider(): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { client_id: 'refunds', client_secret: 'company-client-secret-0123456789' };
  const started: TestProvider = {
    issuer,
    settings: {
      ...{ issuer, clientId: client.client_id, clientSecret: client.client_secret, roleClaim: 'groups' },
      roles: { owners: 'owner', admins: 'admin', support: 'operator' },
    },
    account: { sub: 'none', email: 'none@example.com', email_verified: true, groups: [] },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const provider = new Provider(issuer, {
    clients: [{ ...client, redirect_uris: ['http://localhost/'] }],
    cookies: { keys: ['key of the cookies'] },
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ ...started.account, sub: accountId }) as AccountClaims,
    }),
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email');
      await grant.save();
      return grant;
    },
  });
  provider.Client.prototype.redirectUriAllowed = (uri) => /\/sign-in\/company\/org_\w+\/callback$/.test(uri);
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
    void provider.interactionFinished(request, response, { login: { accountId: started.account.sub } });
  });
  return started;
}

/** Follows the provider's redirects as a browser without earlier cookies, and returns the address of the callback. */
export async function passThrough({ issuer }: TestProvider, address: string): Promise<string> {
  const cookies = new Map<string, string>();
  let next = address;
  while (next.startsWith(issuer)) {
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
    const response = await fetch(next, { headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s);
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${response.status} ${await response.text()}`);
    next = new URL(location, next).href;
  }
  return next;
}
