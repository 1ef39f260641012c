import type { Environment } from '../../shared/environment.ts';

/** The processors that the sandbox plays, with what identifies our account at each. */
export function sandboxCredentials(environment: Environment): Record<string, Record<string, string>> {
  return {
    stripe: { secretKey: `sk_${environment}_sandbox` },
    braintree: { merchantId: 'sandbox', publicKey: `${environment}_public`, privateKey: 'private' },
  };
}
