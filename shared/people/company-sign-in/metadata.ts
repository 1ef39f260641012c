import * as oidc from 'openid-client';
import { SignInRefusal } from './refusal.ts';

/**
 * Sends the client's ID and secret as the provider's metadata say: in a header if they name it or nothing (OpenID Connect Discovery,
 * section 3), else in the form.
 */
export function authenticateClient(secret: string): oidc.ClientAuth {
  return (metadata, ...request) => {
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    if (methods.includes('client_secret_basic')) {
      return oidc.ClientSecretBasic(secret)(metadata, ...request);
    }
    if (!methods.includes('client_secret_post')) throw new SignInRefusal('no_shared_method');
    return oidc.ClientSecretPost(secret)(metadata, ...request);
  };
}

/**
 * Refuses an issuer that stands for many tenants, such as `common` of Entra ID: the administrator of any of them decides which addresses
 * its accounts have.
 */
export function requireOneTenant({ issuer }: Pick<oidc.ServerMetadata, 'issuer'>): void {
  if (issuer.includes('{tenantid}')) throw new SignInRefusal('many_tenants');
}
