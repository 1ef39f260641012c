import type { LookupAddress } from 'node:dns';
import dns from 'node:dns/promises';
import { isIP } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress } from './outgoing-url.ts';

export interface ConnectorOptions {
  /** Allows public addresses alone, as in production. */
  isPublicOnly: boolean;
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
 * and the checked addresses are the ones that are used.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { isPublicOnly } = options;
  const { resolve = isPublicOnly ? resolveWithDns : (host: string) => dns.lookup(host, { all: true }) } =
    options;
  const { isAllowed = isPublicOnly ? isPublicAddress : () => true } = options;
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    lookup(host, { all }, callback) {
      resolve(host).then(
        (addresses) => {
          const [first] = addresses;
          if (first === undefined) return callback(new DnsError(host), []);
          if (!addresses.every(({ address }) => isAllowed(address))) {
            return callback(new BlockedAddressError(host), []);
          }
          if (all) callback(null, addresses);
          else callback(null, first.address, first.family);
        },
        () => callback(new DnsError(host), []),
      );
    },
  });
  return (target, callback) => {
    // A literal address is never looked up.
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !isAllowed(host)) return callback(new BlockedAddressError(host), null);
    connect(target, (error, socket) => {
      if (error !== null) return callback(error, null);
      if (isAllowed(socket.remoteAddress ?? '')) return callback(null, socket);
      socket.destroy();
      callback(new BlockedAddressError(host), null);
    });
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
