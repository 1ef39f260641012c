import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

interface Attributed {
  attributes: { key: string; value: Record<string, unknown> }[];
}

interface ExportedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string; spanId: string }[];
}

/** OTLP as JSON, as far as tests read it. */
interface Export {
  resourceSpans: { resource: Attributed; scopeSpans: { spans: (ExportedSpan & Attributed)[] }[] }[];
}

/** A span, with the name of the process that exported it. */
export interface CollectedSpan extends ExportedSpan {
  service: unknown;
  attributes: Record<string, unknown>;
}

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
  return (JSON.parse(body) as Export).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: valuesOf(span),
        service: valuesOf(resource)['service.name'],
      })),
    ),
  );
}

function valuesOf({ attributes }: Attributed): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
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
