import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';

/** Clients and proxies send one request at a time, so more than a few are an attack. */
const mostPerConnection = 10;

/**
 * Creates a server that ends a connection with more requests under way than that, or as many unread responses. Node starts every
 * request of a read at once, which may be thousands, before any other limit counts them. What it closes as idle includes connections
 * that have not sent a request yet, which load balancers and browsers open in advance: Node would wait for their first one.
 */
export function createBoundedServer(
  handle: RequestListener,
  { keepAliveTimeoutMs, ...options }: ServerOptions & { keepAliveTimeoutMs: number },
): Server {
  const underWay = new Map<Socket, number>();
  const server = createServer({ ...options, keepAliveTimeout: keepAliveTimeoutMs }, (request, response) => {
    const { socket } = request;
    const count = underWay.get(socket) ?? 0;
    if (socket.destroyed || count >= mostPerConnection) {
      socket.destroy();
      return;
    }
    underWay.set(socket, count + 1);
    response.once('close', () => {
      if (!socket.destroyed) underWay.set(socket, (underWay.get(socket) ?? 1) - 1);
    });
    handle(request, response);
  });
  server.on('connection', (socket) => {
    underWay.set(socket, 0);
    socket.once('close', () => underWay.delete(socket));
  });
  server.closeIdleConnections = () => {
    for (const [socket, count] of underWay) if (count === 0) socket.destroy();
  };
  return server;
}
