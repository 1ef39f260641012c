import { type AgentOptions, type ClientRequest, Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Settings } from '../config.ts';

/** What decides which requests go through a proxy. */
export type ProxySettings = Pick<Settings, 'HTTPS_PROXY' | 'HTTP_PROXY' | 'NO_PROXY'>;

/** The proxy for connections to an address; null for direct ones. */
export function proxyFor(target: URL, { HTTPS_PROXY, HTTP_PROXY, NO_PROXY }: ProxySettings): URL | null {
  const proxy = target.protocol === 'https:' ? HTTPS_PROXY : HTTP_PROXY;
  return proxy === null || isExempt(target, NO_PROXY) ? null : new URL(proxy);
}

/** Entries as those of Node.js: a host, `.domain` or `*.domain` for all hosts below it, each with a port or without, and `*`. */
function isExempt(target: URL, list: string): boolean {
  const host = bareHost(target).replace(/\.$/, '');
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*') return true;
      // Unless it is an IPv6 address without brackets, whose colons are no port's.
      const [, name = entry, port] = (isIP(entry) === 0 && /^(.+):(\d+)$/.exec(entry)) || [];
      if (port !== undefined && port !== portOf(target)) return false;
      const suffix = name.replace(/^\*(?=\.)/, '');
      return suffix.startsWith('.') ? host.endsWith(suffix) : host === suffix.replace(/^\[(.*)\]$/, '$1');
    });
}

/** No connection was opened through the proxy, so nothing was sent to the target. */
class ProxyError extends Error {
  override readonly name = 'ProxyError';
  /** As Node's errors have it for a connection that was never made. */
  readonly syscall = 'connect';
  /** Such as PROXY_407, PROXY_ECONNREFUSED or PROXY_TIMEOUT. */
  readonly code: string;

  /** @param reason the status that the proxy answered, or the code of a network error. */
  constructor(reason: string) {
    super(`The proxy opened no connection (${reason})`);
    this.code = `PROXY_${reason}`;
  }
}

/** Gets a connection, or why there is none. */
type TunnelCallback = (...outcome: [error: null, socket: Socket] | [error: ProxyError, socket: null]) => void;

/** For the connection to the proxy and its answer, which waits for the target. */
const tunnelTimeoutMs = 5_000;

/**
 * Has a proxy open a connection, for http: as for https: addresses: what the proxy itself answers is then never taken for an
 * answer of the target.
 * @param callback called once.
 * @returns the request to the proxy; to destroy it gives up.
 */
export function openTunnel(proxy: URL, target: URL, callback: TunnelCallback): ClientRequest {
  const authority = `${target.hostname}:${portOf(target)}`;
  const send = proxy.protocol === 'https:' ? requestHttps : requestHttp;
  const host = bareHost(proxy);
  const request = send({
    host,
    port: portOf(proxy),
    // Node would take the target's name from the header, and ask the proxy for its certificate.
    servername: isIP(host) === 0 ? host : '',
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...authorizationFor(proxy) },
    agent: false,
  });
  const timer = setTimeout(
    () => request.destroy(Object.assign(new Error(), { code: 'TIMEOUT' })),
    tunnelTimeoutMs,
  );
  request.once('connect', ({ statusCode = 0 }, socket) => {
    clearTimeout(timer);
    if (statusCode >= 200 && statusCode < 300) return callback(null, socket);
    socket.destroy();
    callback(new ProxyError(String(statusCode)), null);
  });
  request.once('error', ({ code = 'FAILED' }: NodeJS.ErrnoException) => {
    clearTimeout(timer);
    callback(new ProxyError(code), null);
  });
  request.end();
  return request;
}

function authorizationFor({ username, password }: URL): { 'proxy-authorization'?: string } {
  if (username === '' && password === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** Opens an agent of node:http or node:https for one address, which connects through the proxy where there is one. */
export function openAgent(target: URL, options: AgentOptions, settings: ProxySettings): HttpAgent {
  const agent = target.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  const proxy = proxyFor(target, settings);
  if (proxy !== null) connectThrough(agent, (callback) => openTunnel(proxy, target, callback));
  return agent;
}

/** Makes an agent open its connections inside of tunnels. When it is destroyed, those that are being opened are given up. */
function connectThrough(agent: HttpAgent, open: (callback: TunnelCallback) => ClientRequest): void {
  const opening = new Set<ClientRequest>();
  const connectTls = agent instanceof HttpsAgent ? agent.createConnection.bind(agent) : null;
  const destroy = agent.destroy.bind(agent);
  agent.createConnection = (options, callback) => {
    const created = callback as (error: Error | null, socket?: Duplex | null) => void;
    const request = open((error, socket) => {
      opening.delete(request);
      if (error !== null) return created(error);
      // The agent of https: puts TLS on the socket that is among the options.
      created(null, connectTls === null ? socket : connectTls(Object.assign(options, { socket })));
    });
    opening.add(request);
    return undefined;
  };
  agent.destroy = () => {
    for (const request of opening) request.destroy();
    destroy();
  };
}

/** An IPv6 address without the brackets of URLs. */
function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80');
}
