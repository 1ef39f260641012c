import ipaddr from 'ipaddr.js';

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
