import type { Environment } from '../../shared/platform/environment.ts';

/** The processors that the sandbox plays, with the credentials of our account at each. */
export function sandboxCredentials(environment: Environment) {
  return {
    stripe: { secretKey: `sk_${environment}_sandbox`, webhookSecret: `whsec_${environment}_sandbox` },
    braintree: { merchantId: 'sandbox', publicKey: `${environment}_public`, privateKey: 'private' },
  };
}
