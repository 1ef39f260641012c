import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { errorCatalogue } from '../../shared/errors.ts';
import { useDatabase } from '../harness/database.ts';
import { type RawAnswer, rawRequest, sendBytes } from '../harness/raw-http.ts';
import { startService, type TestService } from '../harness/service.ts';

/** The service behind a real socket, and how hostile requests are made for it. */
export interface HostileBench {
  service: TestService;
  port: number;
  /** Request line and headers of a request with a valid key, after which the connection is closed. */
  head(requestLine: string, ...headers: string[]): string[];
  /** A creation with this body. */
  creation(body: string | Uint8Array, ...headers: string[]): Buffer;
  send(bytes: Uint8Array): Promise<RawAnswer>;
  rowCounts(): Promise<Record<string, number>>;
}

/** What a request is made of once the service runs. */
export type MakeBytes = (bench: HostileBench) => Uint8Array;

/** Gives a test file the service on a port of its own. No worker runs: nothing moves but by requests. */
export function useHostileBench(): () => HostileBench {
  const databaseUrl = useDatabase();
  let bench: HostileBench | null = null;
  beforeAll(async () => {
    const service = await startService({
      databaseUrl: databaseUrl(),
      backend: { name: 'postgres', redisUrl: null },
      workers: 0,
      settings: { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 },
    });
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    bench = benchOf(service);
  });
  afterAll(() => bench?.service.close());
  return () => {
    if (bench === null)
      throw new Error('The service is started in beforeAll; ask for it in a hook or a test.');
    return bench;
  };
}

function benchOf(service: TestService): HostileBench {
  const { port } = service.app.server.address() as AddressInfo;
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
      transaction: await db.transaction.count(),
      idempotencyKey: await db.idempotencyKey.count(),
    }),
  };
}

const internals = /prisma|zod|fastify|FST_|lossless|postgres|\bSQL\b|node_modules|\.[jt]s:\d|\n\s+at /i;

/** Holds an error answer against its one shape: status, code, a message for people, a request id, nothing internal. */
export function expectRefusal(answer: RawAnswer, expected: { status: number; code: string }): void {
  const told = answer.raw.slice(0, 2_000);
  const body = JSON.parse(answer.text);
  expect({ status: answer.status, code: body.error?.code }, told).toEqual(expected);
  expect(body, told).toEqual({ error: { message: expect.stringMatching(/\S/), code: expect.any(String) } });
  expect(errorCatalogue, told).toHaveProperty(
    body.error.code,
    expect.objectContaining({ status: answer.status }),
  );
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(body.error.message).not.toMatch(internals);
}
