import * as oidc from 'openid-client';
import { Agent, fetch } from 'undici';
import type { Clock } from '../../platform/clock.ts';
import type { ServiceSettings } from '../../platform/config.ts';
import type { IdentityProvider } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { guardedConnector } from '../../platform/outgoing/guarded-connector.ts';
import type { SecretBox } from '../../platform/secrets/secrets.ts';
import { type Claims, needsUserInfo, withUserInfo } from './claims.ts';
import { authenticateClient, requireOneTenant } from './metadata.ts';
import { openClientSecret } from './provider.ts';
import { SignInRefusal } from './refusal.ts';
import { refusalOf } from './refusal-of.ts';

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

/** By how much the clocks of provider and service may differ, as for the times of a token. */
const clockToleranceSeconds = 30;

/**
 * Begins a sign-in: authorization code with PKCE, state and nonce.
 * @returns the address at the provider, and what to keep for the callback.
 * @throws SignInRefusal when the provider gives no usable answer.
 */
export async function beginAuthorization(
  deps: ProviderDependencies,
  provider: IdentityProvider,
  request: { redirectUri: string; next: string; isConfirmation: boolean },
): Promise<{ address: string; pending: PendingSignIn }> {
  const { redirectUri, next, isConfirmation } = request;
  const { organizationId, issuer, clientId, scopes: scope } = provider;
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  const codeVerifier = oidc.randomPKCECodeVerifier();
  const codeChallenge = await oidc.calculatePKCECodeChallenge(codeVerifier);
  const address = await asking(deps, provider, async (config) =>
    oidc.buildAuthorizationUrl(config, {
      ...{ redirect_uri: redirectUri, scope, state, nonce },
      ...{ code_challenge: codeChallenge, code_challenge_method: 'S256' },
      ...(isConfirmation && { prompt: 'login', max_age: String(confirmationAgeSeconds) }),
    }),
  );
  const pending = { organizationId, issuer, clientId, state, nonce, codeVerifier, isConfirmation, next };
  return { address: address.href, pending };
}

/** A finished sign-in. */
export interface Authorization {
  claims: Claims;
  /** Whether the provider proves that the person has just signed in. A provider that does not say when proves nothing. */
  isRecent: boolean;
}

/**
 * Exchanges the code of a callback, verifies state, nonce, issuer, audience and the signature of the ID token, and asks UserInfo for
 * claims that the token lacks.
 * @param callback the whole address of the callback.
 * @throws SignInRefusal when the provider or a check refuses, or the provider does not answer.
 */
export async function finishAuthorization(
  deps: ProviderDependencies,
  provider: IdentityProvider,
  { callback, pending }: { callback: URL; pending: PendingSignIn },
): Promise<Authorization> {
  const { state: expectedState, nonce: expectedNonce, codeVerifier: pkceCodeVerifier } = pending;
  if (callback.searchParams.get('state') !== expectedState) throw new SignInRefusal('callback_invalid');
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
  const claims = await asking(deps, provider, async (config) => {
    const tokens = await oidc.authorizationCodeGrant(config, callback, checks);
    const ofToken = tokens.claims();
    if (ofToken === undefined) throw new SignInRefusal('token_invalid');
    const hasUserInfo = config.serverMetadata().userinfo_endpoint !== undefined;
    if (!hasUserInfo || !needsUserInfo(provider, ofToken)) return ofToken;
    return withUserInfo(ofToken, await userInfoOf(config, tokens.access_token, ofToken.sub));
  });
  return { claims, isRecent: pending.isConfirmation && isRecent(deps, provider, claims) };
}

async function userInfoOf(config: oidc.Configuration, accessToken: string, subject: string) {
  try {
    return await oidc.fetchUserInfo(config, accessToken, subject);
  } catch (error) {
    const refusal = refusalOf(error);
    throw refusal.cause === 'unanswered' ? refusal : new SignInRefusal('user_info_refused', refusal.answer);
  }
}

/**
 * @throws SignInRefusal for an older sign-in, and when a provider that has said before when someone signed in does not: the parameters
 * that ask for it pass through the browser.
 */
function isRecent(
  { clock }: ProviderDependencies,
  { tellsSignInTime }: IdentityProvider,
  { auth_time: signedInAt }: Claims,
): boolean {
  if (signedInAt === undefined) {
    if (tellsSignInTime) throw new SignInRefusal('no_sign_in_time');
    return false;
  }
  const ageSeconds = clock.now().getTime() / 1000 - signedInAt;
  if (ageSeconds > confirmationAgeSeconds + clockToleranceSeconds) throw new SignInRefusal('not_recent');
  return true;
}

/**
 * Asks the provider for its published settings, and its token endpoint for tokens with a code that it cannot know. It refuses the code
 * alone when it accepts the client.
 * @throws SignInRefusal for everything else that it says.
 */
export async function testProvider(
  deps: ProviderDependencies,
  provider: IdentityProvider,
  redirectUri: string,
): Promise<void> {
  await asking(deps, provider, async (config) => {
    oidc.buildAuthorizationUrl(config, { redirect_uri: redirectUri, scope: provider.scopes });
    const unknown = { code: oidc.randomState(), code_verifier: oidc.randomPKCECodeVerifier() };
    const grant = { ...unknown, redirect_uri: redirectUri };
    try {
      await oidc.genericGrantRequest(config, 'authorization_code', grant);
    } catch (error) {
      if (refusalOf(error).cause !== 'code_refused') throw error;
    }
  });
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
    if (response.headers.has('content-encoding')) throw new SignInRefusal('unreadable_answer');
    return response as unknown as Response;
  };
  try {
    const now = deps.clock.now();
    const config = await oidc.discovery(
      new URL(provider.issuer),
      provider.clientId,
      {
        // The age of tokens is measured by the service's clock, not by this machine's.
        [oidc.clockSkew]: Math.round((now.getTime() - Date.now()) / 1000),
        [oidc.clockTolerance]: clockToleranceSeconds,
      },
      authenticateClient(openClientSecret(deps.secrets, provider)),
      {
        execute: [oidc.enableNonRepudiationChecks, ...(isPublicOnly ? [] : [oidc.allowInsecureRequests])],
        timeout: timeoutSeconds,
        [oidc.customFetch]: guardedFetch,
      },
    );
    requireOneTenant(config.serverMetadata());
    return await ask(config);
  } catch (error) {
    throw error instanceof ServiceError ? error : refusalOf(error);
  } finally {
    await dispatcher.destroy();
  }
}
