import { type AddressInfo, connect } from 'node:net';
import tls from 'node:tls';
import { onTestFinished, vi } from 'vitest';

/** Of hosts that this machine stands for, signed by itself until 2126. The key is no secret: nothing but tests trusts it. */
const certificate = `\
-----BEGIN CERTIFICATE-----
MIIB5DCCAYqgAwIBAgIUWCnTw7hVvCQnuLnC1pygLb7vX9MwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNdGVzdCByZWNlaXZlcjAgFw0yNjExMjgxOTQ5MjBaGA8yMTI2
MTEwNDE5NDkyMFowGDEWMBQGA1UEAwwNdGVzdCByZWNlaXZlcjBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABGweU+TPJgaYu/x+rStVsiAEnvVuglKOs0Tv2YCYCdoJ
9NQLfCfJOhKLf+xJs3a+ChCiPduVAX2ciWed8xsGD+Gjga8wgawwHQYDVR0OBBYE
FBhojBqOTyihH1qVcr2xCQmqi5OfMB8GA1UdIwQYMBaAFBhojBqOTyihH1qVcr2x
CQmqi5OfMA8GA1UdEwEB/wQFMAMBAf8wWQYDVR0RBFIwUIIOYXBpLnN0cmlwZS5j
b22CIGFwaS5zYW5kYm94LmJyYWludHJlZWdhdGV3YXkuY29tghFob29rcy5leGFt
cGxlLmNvbYIJbG9jYWxob3N0MAoGCCqGSM49BAMCA0gAMEUCIQCvDUPvoowL3FqI
h8nrzS34lJ1R47C7V5hQfBp5TMBaRAIgfNtjf7xOSw7Udbl5tzevDQQZKMuUXIMf
AND6TieOM5w=
-----END CERTIFICATE-----
`;

const key = `\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgp3V0IowgD7YSk3Ix
MgTPT4h9aZdO+8tuDcr3b83/vRmhRANCAARsHlPkzyYGmLv8fq0rVbIgBJ71boJS
jrNE79mAmAnaCfTUC3wnyToSi3/sSbN2vgoQoj3blQF9nIlnnfMbBg/h
-----END PRIVATE KEY-----
`;

const connectTls: (options: tls.ConnectionOptions) => tls.TLSSocket = tls.connect;
const trusting = (options: tls.ConnectionOptions) => connectTls({ ...options, ca: certificate });

/** TLS in front of a server of this machine, until the test ends. */
export interface TlsFront {
  port: number;
  /** The host names that clients asked for, one for each connection. */
  names: unknown[];
}

/**
 * Starts TLS in front of a port, with a certificate for api.stripe.com, api.sandbox.braintreegateway.com, hooks.example.com
 * and localhost, which this process trusts until the test ends or restores all mocks.
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
  const spy = vi.spyOn(tls, 'connect').mockImplementation(trusting as typeof tls.connect);
  onTestFinished(() => {
    spy.mockRestore();
    server.close();
  });
  return front;
}
