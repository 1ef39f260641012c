import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type CompanyAccount, type ProviderKind, plainProvider } from './provider-kinds.ts';

/** An OpenID Connect provider that signs in whoever is its current account, without a page, and says of it what its kind does. */
export interface TestProvider {
  issuer: string;
  /** The settings of an organization that uses it. */
  settings: {
    issuer: string;
    clientId: string;
    clientSecret: string;
    roleClaim: string;
    roles: Record<string, string>;
  };
  account: CompanyAccount;
  /** Replaces what the token endpoint and UserInfo answer, by path. */
  answers: Partial<Record<'/token' | '/userinfo', [status: number, body: object]>>;
  close(): Promise<void>;
}

const client = { id: 'refunds', secret: 'company-client-secret-0123456789' };

/** What the provider keeps of a code until it is exchanged, and of an access token. */
interface Grant {
  account: CompanyAccount;
  scopes: ReadonlySet<string>;
  redirectUri: string;
  challenge: string;
  nonce: string;
  /** In seconds since 1970; undefined when the provider does not say it. */
  signedInAt: number | undefined;
}

/** Starts a provider that leads back to the callback of any organization. */
export async function startIdentityProvider(kind: ProviderKind = plainProvider): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}${kind.path ?? ''}`;
  const provider: TestProvider = {
    issuer,
    settings: {
      ...{ issuer, clientId: client.id, clientSecret: client.secret, ...kind.settings },
      roles: { owners: 'owner', admins: 'admin', support: 'operator' },
    },
    account: { sub: 'none', email: 'none@example.com', email_verified: true, groups: [] },
    answers: {},
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const answer = answering(provider, kind);
  server.on('request', (request, response) => void answer(request, response));
  return provider;
}

function answering(provider: TestProvider, kind: ProviderKind) {
  const base = provider.issuer.replace(/\/$/, '');
  const algorithm = kind.algorithm ?? 'RS256';
  const { privateKey, publicKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [codes, tokens] = [new Map<string, Grant>(), new Map<string, Grant>()];
  const endpoints: Record<string, (request: IncomingMessage, url: URL) => Promise<Answer>> = {
    '/.well-known/openid-configuration': async () => [200, metadataOf(base, provider.issuer, kind)],
    '/jwks': async () => [
      200,
      { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: algorithm, use: 'sig' }] },
    ],
    '/authorize': async (_request, { searchParams }) => {
      const code = randomUUID();
      const grant = grantOf(provider.account, kind, searchParams);
      if (!/\/sign-in\/company\/org_\w+\/callback$/.test(grant.redirectUri))
        return [400, { error: 'invalid_request' }];
      codes.set(code, grant);
      const callback = new URL(grant.redirectUri);
      callback.search = String(
        new URLSearchParams({ code, state: searchParams.get('state') ?? '', iss: provider.issuer }),
      );
      return [303, callback];
    },
    '/token': async (request) => {
      const form = new URLSearchParams(await text(request));
      if (!isClient(request, form, kind)) return [401, { error: 'invalid_client' }];
      const grant = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      if (grant === undefined || !isExchangeOf(grant, form)) return [400, { error: 'invalid_grant' }];
      const accessToken = randomUUID();
      tokens.set(accessToken, grant);
      const { signedInAt, nonce, account, scopes } = grant;
      const now = Math.floor(Date.now() / 1000);
      const idToken = jwt(privateKey, algorithm, {
        ...{ iss: provider.issuer, aud: client.id, sub: account.sub, nonce, iat: now, exp: now + 3600 },
        ...(signedInAt !== undefined && { auth_time: signedInAt }),
        ...kind.idToken(account, scopes),
      });
      return [200, { access_token: accessToken, token_type: 'Bearer', expires_in: 3600, id_token: idToken }];
    },
    '/userinfo': async ({ headers }) => {
      const grant = tokens.get((headers.authorization ?? '').replace(/^Bearer /, ''));
      if (grant === undefined || kind.userInfo === undefined) return [401, { error: 'invalid_token' }];
      return [200, { sub: grant.account.sub, ...kind.userInfo(grant.account, grant.scopes) }];
    },
  };
  return async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '', base);
    const path = url.href.slice(base.length).split('?')[0] ?? '';
    const replaced = provider.answers[path as '/token'];
    const [status, body] = replaced ?? (await endpoints[path]?.(request, url)) ?? [404, {}];
    const headers = body instanceof URL ? { location: body.href } : { 'content-type': 'application/json' };
    response.writeHead(status, headers).end(body instanceof URL ? '' : JSON.stringify(body));
  };
}

type Answer = [status: number, body: object | URL];

function metadataOf(base: string, issuer: string, { methods, algorithm = 'RS256', userInfo }: ProviderKind) {
  return {
    issuer,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    jwks_uri: `${base}/jwks`,
    ...(userInfo !== undefined && { userinfo_endpoint: `${base}/userinfo` }),
    ...(methods !== undefined && { token_endpoint_auth_methods_supported: methods }),
    id_token_signing_alg_values_supported: [algorithm],
    authorization_response_iss_parameter_supported: true,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
  };
}

/** Someone who is signed in there since an hour, and signs in anew when asked to by a provider that does so. */
function grantOf(account: CompanyAccount, { signInTime }: ProviderKind, query: URLSearchParams): Grant {
  const isAsked = query.get('prompt') === 'login' && query.has('max_age');
  const signedInAt = Math.floor(Date.now() / 1000) - (isAsked ? 0 : 3600);
  const isTold = signInTime === 'always' || (signInTime === 'when asked' && isAsked);
  return {
    account: { ...account },
    scopes: new Set((query.get('scope') ?? '').split(' ')),
    redirectUri: query.get('redirect_uri') ?? '',
    challenge: query.get('code_challenge') ?? '',
    nonce: query.get('nonce') ?? '',
    signedInAt: isTold ? signedInAt : undefined,
  };
}

function isClient(
  { headers }: IncomingMessage,
  form: URLSearchParams,
  { registered }: ProviderKind,
): boolean {
  const [, encoded = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
  const isBasic = encoded !== '';
  if (registered !== undefined && registered !== (isBasic ? 'client_secret_basic' : 'client_secret_post'))
    return false;
  const [id, secret] = isBasic
    ? Buffer.from(encoded, 'base64')
        .toString()
        .split(':')
        .map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
    : [form.get('client_id'), form.get('client_secret')];
  return id === client.id && secret === client.secret;
}

function isExchangeOf({ redirectUri, challenge }: Grant, form: URLSearchParams): boolean {
  const verifier = form.get('code_verifier') ?? '';
  const expected = createHash('sha256').update(verifier).digest('base64url');
  return form.get('redirect_uri') === redirectUri && expected === challenge;
}

function jwt(key: KeyObject, alg: string, claims: object): string {
  const parts = [{ alg, typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = sign('sha256', Buffer.from(parts.join('.')), { key, dsaEncoding: 'ieee-p1363' });
  return [...parts, signature.toString('base64url')].join('.');
}

/** Follows the provider's redirect as a browser, and returns the address of the callback. */
export async function passThrough(address: string): Promise<string> {
  const response = await fetch(address, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`${response.status} ${await response.text()}`);
  return location;
}
