import * as oidc from 'openid-client';
import { Agent, fetch } from 'undici';
import type { Clock } from '../../platform/clock.ts';
import type { ServiceSettings } from '../../platform/config.ts';
import type { IdentityProvider } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { guardedConnector } from '../../platform/outgoing/guarded-connector.ts';
import type { SecretBox } from '../../platform/secrets/secrets.ts';
import { openClientSecret } from './provider.ts';

interface ProviderDependencies {
  secrets: SecretBox;
  settings: ServiceSettings;
  clock: Clock;
}

/** What the callback must match. It is kept in the browser, sealed. */
export interface PendingSignIn {
  organizationId: string;
  /** The settings that it began with. */
  issuer: string;
  clientId: string;
  state: string;
  nonce: string;
  codeVerifier: string;
  /** Whether the provider must ask for credentials, so that the session counts as confirmed. */
  isConfirmation: boolean;
  /** Where to go afterwards. */
  next: string;
}

const timeoutSeconds = 10;

/** The most bytes of an answer. */
const maxResponseSize = 1024 * 1024;

/** How old a sign-in at the provider may be, to confirm a session. */
const confirmationAgeSeconds = 60;

/**
 * Begins a sign-in: authorization code with PKCE, state and nonce.
 * @returns the address at the provider, and what to keep for the callback.
 * @throws ServiceError service_unavailable when the provider gives no usable answer.
 */
export async function beginAuthorization(
  deps: ProviderDependencies,
  provider: IdentityProvider,
  request: { redirectUri: string; next: string; isConfirmation: boolean },
): Promise<{ address: string; pending: PendingSignIn }> {
  const { redirectUri, next, isConfirmation } = request;
  const { organizationId, issuer, clientId } = provider;
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  const codeVerifier = oidc.randomPKCECodeVerifier();
  const codeChallenge = await oidc.calculatePKCECodeChallenge(codeVerifier);
  const address = await asking(deps, provider, async (config) =>
    oidc.buildAuthorizationUrl(config, {
      ...{ redirect_uri: redirectUri, scope: 'openid email', state, nonce },
      ...{ code_challenge: codeChallenge, code_challenge_method: 'S256' },
      ...(isConfirmation && { prompt: 'login', max_age: String(confirmationAgeSeconds) }),
    }),
  );
  const pending = { organizationId, issuer, clientId, state, nonce, codeVerifier, isConfirmation, next };
  return { address: address.href, pending };
}

/** The claims of a verified ID token. */
export type Claims = oidc.IDToken;

/**
 * Exchanges the code of a callback, and verifies state, nonce, issuer, audience and the signature of the ID token.
 * @param callback the whole address of the callback.
 * @throws ServiceError insufficient_scope when the provider or a check refuses; service_unavailable when it does not answer.
 */
export async function finishAuthorization(
  deps: ProviderDependencies,
  provider: IdentityProvider,
  { callback, pending }: { callback: URL; pending: PendingSignIn },
): Promise<Claims> {
  const { state, nonce, codeVerifier, isConfirmation } = pending;
  const tokens = await asking(deps, provider, (config) =>
    oidc.authorizationCodeGrant(config, callback, {
      ...{
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      },
      ...(isConfirmation && { maxAge: confirmationAgeSeconds }),
    }),
  );
  const claims = tokens.claims();
  if (claims === undefined) throw refused();
  return claims;
}

/** Checks that the provider publishes its settings under its issuer. */
export async function testProvider(deps: ProviderDependencies, provider: IdentityProvider): Promise<void> {
  await asking(deps, provider, async () => undefined);
}

/** Runs `ask` with the provider's published settings, and connections that reach public addresses only. */
async function asking<T>(
  deps: ProviderDependencies,
  provider: IdentityProvider,
  ask: (config: oidc.Configuration) => Promise<T>,
): Promise<T> {
  const isPublicOnly = deps.settings.NODE_ENV === 'production';
  const connect = guardedConnector({ isPublicOnly, proxies: deps.settings });
  const dispatcher = new Agent({ connect, maxResponseSize });
  const guardedFetch = async (url: string, options: { headers: Record<string, string> }) => {
    const headers = { ...options.headers, 'accept-encoding': 'identity' };
    const response = await fetch(url, { ...options, headers, dispatcher, redirect: 'error' });
    // Unpacked, it could be larger than any limit.
    if (response.headers.has('content-encoding')) throw refused();
    return response as unknown as Response;
  };
  try {
    const [clientSecret, now] = [openClientSecret(deps.secrets, provider), deps.clock.now()];
    const config = await oidc.discovery(
      new URL(provider.issuer),
      provider.clientId,
      // The age of tokens is measured by the service's clock, not by this machine's.
      { client_secret: clientSecret, [oidc.clockSkew]: Math.round((now.getTime() - Date.now()) / 1000) },
      undefined,
      {
        execute: [oidc.enableNonRepudiationChecks, ...(isPublicOnly ? [] : [oidc.allowInsecureRequests])],
        timeout: timeoutSeconds,
        [oidc.customFetch]: guardedFetch,
      },
    );
    return await ask(config);
  } catch (error) {
    throw refusalOf(error);
  } finally {
    await dispatcher.destroy();
  }
}

/** Neither the error's message nor its response goes on: they may contain codes and tokens. */
function refusalOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code = '' } = error as { code?: string };
  const isUnavailable =
    error instanceof TypeError || /TIMEOUT|ABORT/.test(code) || error instanceof DOMException;
  if (!isUnavailable) return refused();
  const message =
    "Your company's sign-in does not answer. Try again in a minute. If it persists, ask your administrator.";
  return new ServiceError('service_unavailable', message, { retryAfterSeconds: 60 });
}

function refused(): ServiceError {
  const message = 'The sign-in was refused, was used before, or has expired. Start again.';
  return new ServiceError('insufficient_scope', message);
}
