import { json, type Serve } from '../processors/scripted-server.ts';

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
  received(): string[];
  spans(): CollectedSpan[];
}

/** @param serve starts its server, and ends it after the test. */
export async function startCollector(serve: Serve): Promise<Collector> {
  const { url, seen } = await serve((_call, response) => json(response, 200, {}));
  const received = () => seen.filter(({ path }) => path === '/v1/traces').map(({ body }) => body);
  return { url, received, spans: () => received().flatMap(spansOf) };
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
