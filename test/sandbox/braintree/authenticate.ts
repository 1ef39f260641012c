import type { Account, Answer, Call } from '../exchange.ts';
import { xmlAnswer } from './xml.ts';

/** The merchant id in the path is the account, and the public key says whether it is the live one. */
export function authenticate(call: Call): Account | Answer {
  const merchantId = /^\/merchants\/([^/]+)\//.exec(call.path)?.[1];
  const [publicKey, privateKey] = basicCredentials(call.headers.authorization);
  if (!merchantId || !publicKey || !privateKey)
    return xmlAnswer(401, '<error>credentials are missing</error>');
  const credentials = `${publicKey}:${privateKey}`;
  if (credentials.includes('invalid')) return xmlAnswer(401, '<error>credentials are wrong</error>');
  if (credentials.includes('forbidden')) return xmlAnswer(403, '<error>not allowed</error>');
  const environment = publicKey.startsWith('live_') ? 'live' : 'test';
  return { environment, id: `braintree_${environment}_${merchantId}` };
}

function basicCredentials(authorization: string | undefined): string[] {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1];
  return encoded === undefined ? [] : Buffer.from(encoded, 'base64').toString('utf8').split(':');
}
