import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';
import { z } from 'zod';

const attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])));

/** OTLP as JSON, as far as tests read it. */
const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              attributes,
              links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
            }),
          ),
        }),
      ),
    }),
  ),
});

type ExportedSpan = z.output<
  typeof exportSchema
>['resourceSpans'][number]['scopeSpans'][number]['spans'][number];

/** A span, with the name of the process that exported it. */
export type CollectedSpan = ExportedSpan & { service: unknown };

/** Receives traces by OTLP over HTTP, as an OpenTelemetry collector does. */
export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string;
  /** The bodies of all exports. */
  received: string[];
  spans(): CollectedSpan[];
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (request.url === '/v1/traces') received.push(Buffer.concat(chunks).toString('utf8'));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    spans: () => received.flatMap(spansOf),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansOf(body: string): CollectedSpan[] {
  return exportSchema
    .parse(JSON.parse(body))
    .resourceSpans.flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) =>
        spans.map((span) => ({ ...span, service: resource.attributes['service.name'] })),
      ),
    );
}

/** Gives a test file collectors that are closed after the test that started them. */
export function useCollectors(): () => Promise<Collector> {
  const collectors: Collector[] = [];
  afterEach(async () => {
    await Promise.all(collectors.splice(0).map((collector) => collector.close()));
  });
  return async () => {
    const collector = await startCollector();
    collectors.push(collector);
    return collector;
  };
}
