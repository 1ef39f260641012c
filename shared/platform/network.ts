import ipaddr from 'ipaddr.js';

/**
 * What attempts of a network address are counted for: the /64 of an IPv6 address, all of which one site has to itself, or
 * an IPv4 address as it is.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString();
}
