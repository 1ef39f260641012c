import { Pool, request } from 'undici';
import { type ConnectorOptions, guardedConnector } from '#shared/platform/outgoing/guarded-connector.ts';
import type { AttemptError } from '#shared/webhooks/deliveries.ts';
import { withoutContinue } from './without-continue.ts';

/** The beginning of a response, or why there is none. */
export interface Reply {
  /** Null when there was no response. */
  status: number | null;
  /** The first bytes of the body. */
  body: Buffer;
  /** The header of this name, as it was received. */
  retryAfter: string | null;
  /** What went wrong on the way; null for a response with any status. */
  error: AttemptError | null;
}

/** Sends requests to addresses that users entered. */
export interface Transport {
  /** Sends a POST request. Never throws. */
  post(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<Reply>;
  close(): Promise<void>;
}

/** With `isPublicOnly`, only https is allowed as well. */
export interface TransportOptions extends ConnectorOptions {
  /** For the whole attempt, in milliseconds. */
  timeoutMs?: number;
}

/** The time for an attempt, from the look-up of the host to the end of the response. */
export const attemptTimeoutMs = 15_000;

const longestIdleMs = 1_000;

const longestConnectionMs = 30_000;

/** Bytes of a response that are read; the rest is never received. */
const mostBodyBytes = 4 * 1024;

/**
 * Opens a transport that follows no redirect. With `isPublicOnly`, it reaches public addresses alone, as
 * `guardedConnector` checks them.
 */
export function openTransport(options: TransportOptions): Transport {
  const { isPublicOnly, timeoutMs = attemptTimeoutMs } = options;
  const connect = guardedConnector(options);
  const hosts = openHosts({
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: (target, callback) =>
      connect(target, (...[error, socket]) =>
        error === null ? callback(null, withoutContinue(socket)) : callback(error, null),
      ),
  });
  return {
    async post(url, headers, body) {
      const { origin, protocol } = new URL(url);
      if (isPublicOnly && protocol !== 'https:') return failed('https_required');
      const dispatcher = hosts.connectionsTo(origin);
      const signal = AbortSignal.timeout(timeoutMs);
      let status: number | null = null;
      try {
        const response = await request(url, { dispatcher, method: 'POST', headers, body, signal });
        status = response.statusCode;
        const [retryAfter = null] = [response.headers['retry-after'] ?? []].flat();
        return { status, body: await readBeginning(response.body), retryAfter, error: null };
      } catch (error) {
        return { ...failed(signal.aborted ? 'timeout' : errorOf(error)), status };
      }
    },
    close: () => hosts.close(),
  };
}

interface Hosts {
  connectionsTo(origin: string): Pool;
  close(): Promise<void>;
}

/** The connections to each host, while there are some. undici's Agent closes those in use when another one to their host ends. */
function openHosts(options: Pool.Options): Hosts {
  const pools = new Map<string, Pool>();
  return {
    connectionsTo(origin) {
      const known = pools.get(origin);
      if (known !== undefined) return known;
      const pool = new Pool(origin, {
        ...options,
        // Idles for less time than receivers wait before they close a connection, because one that is closed while a request is
        // being sent fails the attempt. A busy one is replaced as well, so that its host is resolved again.
        keepAliveTimeout: longestIdleMs,
        keepAliveMaxTimeout: longestIdleMs,
        clientTtl: longestConnectionMs,
      });
      pools.set(origin, pool);
      const forgetUnused = () => {
        const { connected, size } = pool.stats;
        if (connected > 0 || size > 0 || pools.get(origin) !== pool) return;
        pools.delete(origin);
        void pool.close();
      };
      pool.on('disconnect', forgetUnused).on('connectionError', forgetUnused);
      return pool;
    },
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

function failed(error: AttemptError): Reply {
  return { status: null, body: Buffer.alloc(0), retryAfter: null, error };
}

/** Reads no more than is kept, then ends the connection. */
async function readBeginning(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= mostBodyBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, mostBodyBytes);
}

function errorOf(error: unknown): AttemptError {
  const { name = '', code = '' } = error as { name?: string; code?: string };
  if (name === 'BlockedAddressError') return 'address_not_public';
  if (name === 'DnsError') return 'dns_failed';
  if (name.startsWith('HTTPParser') || code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return 'invalid_response';
  }
  if (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_|DEPTH_ZERO|SELF_SIGNED|EPROTO|HOSTNAME_)/.test(code))
    return 'tls_failed';
  if (/^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT|ECONNRESET|EPIPE|UND_ERR_ABORTED)/.test(code))
    return 'connection_closed';
  return 'connection_failed';
}
