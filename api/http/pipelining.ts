import {
  createServer,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';

/** Clients and proxies send one request at a time, so more than a few are an attack. */
const mostPerConnection = 10;

interface BoundedServerOptions extends ServerOptions {
  keepAliveTimeoutMs: number;
  /** How long nothing may move on a connection with a request under way: longer than any request waits. */
  idleTimeoutMs: number;
  /** Connections without a request under way. */
  mostIdle?: number;
}

/**
 * Half of the files that this process may open, of which each connection is one: with all of them taken, it would answer no one, and
 * reach no store.
 */
function halfOfFiles(): number {
  // Otherwise it asks for the names of open connections. The types do not know it yet.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const files = userLimits?.open_files?.soft;
  return typeof files === 'number' ? Math.floor(files / 2) : Number.POSITIVE_INFINITY;
}

/**
 * Creates a server that ends a connection with more requests under way than `mostPerConnection`, or as many unread responses. Node
 * starts every request of a read at once, which may be thousands, before any other limit counts them.
 * It also ends connections that do not read their responses, which would be kept in memory, and those that have been idle for longest
 * where there are more than `mostIdle`.
 */
export function createBoundedServer(
  handle: RequestListener,
  { keepAliveTimeoutMs, idleTimeoutMs, mostIdle = halfOfFiles(), ...options }: BoundedServerOptions,
): Server {
  const underWay = new WeakMap<Socket, Set<ServerResponse>>();
  /** The one that has been idle for longest comes first. */
  const idle = new Set<Socket>();
  const becomeIdle = (socket: Socket) => {
    if (socket.destroyed) return;
    idle.add(socket);
    const [longest] = idle;
    if (idle.size <= mostIdle || longest === undefined) return;
    idle.delete(longest);
    longest.destroy();
  };
  const server = createServer({ ...options, keepAliveTimeout: keepAliveTimeoutMs }, (request, response) => {
    const { socket } = request;
    const responses = underWay.get(socket);
    if (responses === undefined || socket.destroyed || responses.size >= mostPerConnection) {
      socket.destroy();
      return;
    }
    responses.add(response);
    idle.delete(socket);
    response.once('close', () => {
      responses.delete(response);
      if (responses.size === 0) becomeIdle(socket);
    });
    handle(request, response);
  });
  server.on('connection', (socket) => {
    const responses = new Set<ServerResponse>();
    underWay.set(socket, responses);
    becomeIdle(socket);
    socket.once('close', () => idle.delete(socket));
    // Node closes only the response that it writes, and not those that wait behind it.
    socket.once('close', () => {
      for (const response of responses) if (response.socket === null) response.destroy().emit('close');
    });
  });
  server.setTimeout(idleTimeoutMs);
  endUnused(server);
  return server;
}

/** How long after the start of closing the first byte of a connection may come. */
const firstByteMs = 1_000;

/**
 * Ends connections that have not sent a byte soon after the server begins to close. Load balancers and browsers open them in advance,
 * and it would wait for their first request. That of a connection which was just made is on its way, and is answered.
 */
function endUnused(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    closeIdle();
    setTimeout(() => {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    }, firstByteMs).unref();
  };
}
