import { type AddressInfo, connect } from 'node:net';
import tls from 'node:tls';
import { onTestFinished, vi } from 'vitest';

/** Of hosts that this machine stands for, signed by itself until 2126. The key is no secret: nothing but tests trusts it. */
const certificate = `\
-----BEGIN CERTIFICATE-----
MIIB2TCCAX+gAwIBAgIUDomiOhrkQoG22JziOJW4uhFs/hUwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNdGVzdCByZWNlaXZlcjAgFw0yNjExMjgxOTMyMzhaGA8yMTI2
MTEwNDE5MzIzOFowGDEWMBQGA1UEAwwNdGVzdCByZWNlaXZlcjBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABIJ2qPmizmK7LZDrj6aGG65tob6Dl+hLviLdqrf5ohFi
w5/YdTRiHOwIY8uKAFdkTiHBHwix989nH1nUm7qJFBejgaQwgaEwHQYDVR0OBBYE
FEsZRpE26+TFfQFIWQnbxuWglleVMB8GA1UdIwQYMBaAFEsZRpE26+TFfQFIWQnb
xuWglleVMA8GA1UdEwEB/wQFMAMBAf8wTgYDVR0RBEcwRYIOYXBpLnN0cmlwZS5j
b22CIGFwaS5zYW5kYm94LmJyYWludHJlZWdhdGV3YXkuY29tghFob29rcy5leGFt
cGxlLmNvbTAKBggqhkjOPQQDAgNIADBFAiAJ4j8tmlhAXDjW6rI3SNZcAY8COkud
z9ChukTTNay0/wIhALVRR+idMmAnN7MnGYUpq8Y7XMX58DykFir4d/iRsEzN
-----END CERTIFICATE-----
`;

const key = `\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQNxTBddDHMe3InVx
4WcYuDkKYWAiz7k3voafTXWbu4ahRANCAASCdqj5os5iuy2Q64+mhhuubaG+g5fo
S74i3aq3+aIRYsOf2HU0YhzsCGPLigBXZE4hwR8IsffPZx9Z1Ju6iRQX
-----END PRIVATE KEY-----
`;

/** TLS in front of a server of this machine, until the test ends. */
export interface TlsFront {
  port: number;
  /** The host names that clients asked for, one for each connection. */
  names: unknown[];
}

/**
 * Starts TLS in front of a port, with a certificate for api.stripe.com, api.sandbox.braintreegateway.com and
 * hooks.example.com, which this process trusts until the test ends or restores all mocks.
 */
export async function startTlsFront(port: number): Promise<TlsFront> {
  const server = tls.createServer({ key, cert: certificate }, (client) => {
    front.names.push(client.servername);
    const target = connect(port, '127.0.0.1');
    client.pipe(target).pipe(client);
    target.on('error', () => client.destroy());
    client.on('error', () => target.destroy()).on('close', () => target.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front: TlsFront = { port: (server.address() as AddressInfo).port, names: [] };
  const connectTls: (options: tls.ConnectionOptions) => tls.TLSSocket = tls.connect;
  const trusting = (options: tls.ConnectionOptions) => connectTls({ ...options, ca: certificate });
  const spy = vi.spyOn(tls, 'connect').mockImplementation(trusting as typeof tls.connect);
  onTestFinished(() => {
    spy.mockRestore();
    server.close();
  });
  return front;
}
