import type { LookupAddress } from 'node:dns';
import dns from 'node:dns/promises';
import { isIP } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress } from './outgoing-url.ts';
import { openTunnel, type ProxySettings, proxyFor } from './proxy.ts';

export interface ConnectorOptions {
  /** Allows public addresses alone, as in production. */
  isPublicOnly: boolean;
  proxies: ProxySettings;
  /** Whether an address may be connected to; tests replace it. */
  isAllowed?: (ip: string) => boolean;
  /** Resolves a host name to addresses; tests replace it. */
  resolve?: (host: string) => Promise<LookupAddress[]>;
}

const connectTimeoutMs = 5_000;

class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
}

/**
 * Opens connections to addresses that users entered. Addresses are checked as they are connected to: a name is resolved once,
 * and the checked addresses are the ones that are used, so a name that changes in between cannot lead to another one. A proxy
 * gets the name after the same check, and resolves it again: many proxies allow connections by name alone.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { isPublicOnly, proxies } = options;
  const { resolve = isPublicOnly ? resolveWithDns : (host: string) => dns.lookup(host, { all: true }) } =
    options;
  const { isAllowed = isPublicOnly ? isPublicAddress : () => true } = options;
  const allowedAddresses = async (host: string): Promise<[LookupAddress, ...LookupAddress[]]> => {
    const [first, ...others] = await resolve(host).catch(() => []);
    if (first === undefined) throw new DnsError(host);
    if (![first, ...others].every(({ address }) => isAllowed(address))) throw new BlockedAddressError(host);
    return [first, ...others];
  };
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    lookup(host, { all }, callback) {
      allowedAddresses(host).then(
        ([first, ...others]) => {
          if (all) callback(null, [first, ...others]);
          else callback(null, first.address, first.family);
        },
        (error) => callback(error, []),
      );
    },
  });
  return (target, callback) => {
    // A literal address is never looked up.
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !isAllowed(host)) return callback(new BlockedAddressError(host), null);
    const url = new URL(`${target.protocol}//${target.host}`);
    const proxy = proxyFor(url, proxies);
    if (proxy === null) {
      return void connect(target, (error, socket) => {
        if (error !== null) return callback(error, null);
        if (isAllowed(socket.remoteAddress ?? '')) return callback(null, socket);
        socket.destroy();
        callback(new BlockedAddressError(host), null);
      });
    }
    const open = () =>
      openTunnel(proxy, url, (error, httpSocket) => {
        if (error !== null) return callback(error, null);
        if (url.protocol === 'https:') connect({ ...target, httpSocket }, callback);
        else callback(null, httpSocket);
      });
    if (isIP(host) !== 0) open();
    else allowedAddresses(host).then(open, (error) => callback(error, null));
  };
}

class DnsError extends Error {
  override readonly name = 'DnsError';
}

/**
 * Asks name servers directly. The system's look-up shares four threads with everything else in the process: a few names whose
 * servers do not respond would delay all other look-ups, also those of processors.
 */
async function resolveWithDns(host: string): Promise<LookupAddress[]> {
  const [v4, v6] = await Promise.all([
    dns.resolve4(host).catch(() => []),
    dns.resolve6(host).catch(() => []),
  ]);
  return [...v4.map((address) => ({ address, family: 4 })), ...v6.map((address) => ({ address, family: 6 }))];
}
