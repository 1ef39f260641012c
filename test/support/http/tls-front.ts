import { type AddressInfo, connect, createServer } from 'node:net';
import tls from 'node:tls';
import { onTestFinished, vi } from 'vitest';
import { newCertificateAuthority } from './certificate-authority.ts';

const authority = newCertificateAuthority('Test authority');
/** Of hosts that this machine stands for. */
const certified = authority.issue(
  ...['localhost', 'hooks.example.com', 'api.stripe.com', 'api.sandbox.braintreegateway.com'],
);

type Connect = (options: tls.ConnectionOptions, connected?: () => void) => tls.TLSSocket;
const connectTls: Connect = tls.connect;
const trusting: Connect = (options, connected) =>
  connectTls({ ...options, ca: authority.certificate }, connected);

/** TLS in front of a server of this machine, until the test ends. */
export interface TlsFront {
  port: number;
  /** The host names that clients asked for, one for each connection. */
  names: unknown[];
}

/**
 * Starts TLS in front of a port, with a certificate for localhost, hooks.example.com, api.stripe.com and
 * api.sandbox.braintreegateway.com, which this process trusts until the test ends or restores all mocks.
 * @param options.protocol PostgreSQL's clients ask for TLS first, and begin when the server agrees.
 */
export async function startTlsFront(
  port: number,
  { protocol = 'any' }: { protocol?: 'any' | 'postgres' } = {},
): Promise<TlsFront> {
  const secure = tls.createServer(certified, (client) => {
    front.names.push(client.servername);
    const target = connect(port, '127.0.0.1');
    client.pipe(target).pipe(client);
    target.on('error', () => client.destroy());
    client.on('error', () => target.destroy()).on('close', () => target.destroy());
  });
  const server = createServer((client) => {
    client.on('error', () => {});
    if (protocol === 'any') return void secure.emit('connection', client);
    client.once('readable', () => {
      client.read(sslRequestBytes);
      client.write('S');
      secure.emit('connection', client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front: TlsFront = { port: (server.address() as AddressInfo).port, names: [] };
  const spy = vi.spyOn(tls, 'connect').mockImplementation(trusting as typeof tls.connect);
  onTestFinished(() => {
    spy.mockRestore();
    server.close();
  });
  return front;
}

const sslRequestBytes = 8;
