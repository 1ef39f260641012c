import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.ts';

const maxLength = 2_048;

/**
 * What is wrong with the URL of an endpoint, as the end of a sentence that begins with its name; null when nothing is. A name is
 * not resolved here: its addresses are checked with every connection.
 * @param isProduction allows only https and hosts that may be public.
 */
export function checkEndpointUrl(text: string, isProduction: boolean): string | null {
  if (text.length > maxLength) return `must have at most ${maxLength} characters`;
  // The URL parser drops or replaces other characters, so the URL that is stored would not be the one that is called.
  if (!/^[\x21-\x5b\x5d-\x7e]*$/.test(text)) return 'must contain visible ASCII characters only, and no \\';
  if (!/^https?:\/\//i.test(text))
    return `must begin with ${isProduction ? 'https://' : 'https:// or http://'}`;
  if (!URL.canParse(text)) return 'must be a complete URL, such as https://example.com/webhooks';
  const { protocol, username, password, hostname } = new URL(text);
  if (username !== '' || password !== '') return 'must not contain a user name or password';
  if (!isProduction) return null;
  if (protocol !== 'https:') return 'must begin with https://';
  return mayBePublic(hostname) ? null : 'must not be a private, local or reserved address';
}

/** @param hostname as the URL parser writes it: every spelling of an IPv4 address becomes a.b.c.d. */
function mayBePublic(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return isIP(host) === 0 ? !/(^|\.)localhost$/.test(host) : isPublicAddress(host);
}
