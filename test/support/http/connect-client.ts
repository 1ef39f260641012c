import type { AddressInfo } from 'node:net';
import { type ClientOptions, RefundClient } from '#shared/client/index.ts';
import type { TestService } from '../service.ts';

/** Lets the service listen on a port of its own, unless it does. @returns its address. */
export async function exposeService({ app }: TestService): Promise<string> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

/** A client of the service, over a real socket, with the organization's test key unless the options say otherwise. */
export async function connectClient(
  service: TestService,
  options: Partial<ClientOptions> = {},
): Promise<RefundClient> {
  const baseUrl = await exposeService(service);
  return new RefundClient({ baseUrl, apiKey: service.organization.keys.test.plaintext, ...options });
}
