import type { Dependencies } from '#shared/dependencies.ts';
import type { ServiceSettings } from '#shared/platform/config.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import type { TestService } from '../service.ts';
import { useService } from '../use-service.ts';
import { type RawAnswer, rawRequest, sendBytes } from './raw-http.ts';

/** The service behind a real socket, for requests that no client would make. */
export interface ExposedService {
  service: TestService;
  port: number;
  /** Request line and headers of a request with a valid key, after which the connection is closed. */
  head(requestLine: string, ...headers: string[]): string[];
  /** A creation with this body. */
  creation(body: string | Uint8Array, ...headers: string[]): Buffer;
  send(bytes: Uint8Array): Promise<RawAnswer>;
  rowCounts(): Promise<Record<string, number>>;
}

/** Gives a test file the service on a port of its own. No worker runs: nothing moves but by requests. */
export function useExposedService(
  settings: Partial<ServiceSettings> = {},
  overrides: Partial<Dependencies> = {},
): ExposedService {
  const waits = { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 };
  const service = useService({ workers: 0, settings: { ...waits, ...settings }, overrides });
  return madeBeforeTests('The exposed service', async () => exposed(service, await service.url()));
}

function exposed(service: TestService, url: string): ExposedService {
  const port = Number(new URL(url).port);
  const { db } = service.deps;
  const authorization = `Authorization: Bearer ${service.organization.keys.test.plaintext}`;
  const head = (requestLine: string, ...headers: string[]) => [
    `${requestLine} HTTP/1.1`,
    'Host: refunds.example',
    authorization,
    'Connection: close',
    ...headers,
  ];
  return {
    service,
    port,
    head,
    creation: (body, ...headers) => {
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      return rawRequest(head('POST /v1/refunds', 'Content-Type: application/json', length, ...headers), body);
    },
    send: (bytes) => sendBytes(port, bytes),
    rowCounts: async () => ({
      refund: await db.refund.count(),
      refundEvent: await db.refundEvent.count(),
      payment: await db.payment.count(),
    }),
  };
}
