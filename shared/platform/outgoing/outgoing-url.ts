import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const maxLength = 2_048;

/**
 * What is wrong with a URL that a person has entered for this service to call, as the end of a sentence that begins with its name;
 * null when nothing is. A host name is not resolved here: its addresses are checked with every connection.
 * @param isProduction allows only https and hosts that may be public.
 */
export function checkOutgoingUrl(text: string, isProduction: boolean): string | null {
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

/**
 * True for an address of the public internet; false for loopback, private, link-local and reserved ones, and for text that is
 * no address. An allow-list, so that an unknown kind of address is refused. An IPv4 address inside an IPv6 one, whether mapped
 * or translated, is never public.
 */
export function isPublicAddress(ip: string): boolean {
  if (!ipaddr.isValid(ip)) return false;
  // Unwraps ::ffff:a.b.c.d.
  const address = ipaddr.process(ip);
  if (address.toString() === azurePlatform) return false;
  if (address.range() !== 'unicast') return false;
  // ipaddr.js also calls ::127.0.0.1 and unassigned IPv6 addresses unicast; global ones begin with 001.
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(globalUnicast);
}

/** Has the form of a public address, and leads to the platform of the machine itself on Azure. */
const azurePlatform = '168.63.129.16';

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
