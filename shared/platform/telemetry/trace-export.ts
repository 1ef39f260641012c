import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { pid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, millisToHrTime, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../log.ts';
import { openAgent, type ProxySettings, proxyFor } from '../outgoing/proxy.ts';
import { version } from '../version.ts';
import type {
  EndedSpan,
  OpenSpan,
  SpanAttributes,
  SpanParent,
  Telemetry,
  TracedRequest,
} from './telemetry.ts';

interface TraceExport {
  /** Where spans are posted, with OTLP over HTTP. */
  url: string;
  /** The share of traces that is exported, from 0 to 1. Processes agree on each refund, because its id decides. */
  share: number;
  process: 'api' | 'worker';
  proxies: ProxySettings;
}

/** How long a closing process waits for the export of its last spans. */
const closeMs = 2_000;

/** Exports spans in batches. What a collector does not take is dropped, and never waited for. */
export function exportTraces({ url, share, process, proxies }: TraceExport, log: Logger): Telemetry {
  const ids = new ChosenIds();
  const health = exportHealth(log);
  const exporter = watched(new OTLPTraceExporter({ url, ...agentThroughProxy(url, proxies) }), health);
  const provider = new TracerProvider({
    resource: resourceOf(process),
    sampler: new TraceIdRatioBasedSampler(share),
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('refund-service', version);
  return {
    refund: (refundId) => below(tracer, contextOf(rootOf(refundId))),
    recordRequest: (request) => recordRequest(tracer, ids, request),
    async close() {
      const ended = provider.shutdown().then(
        () => true,
        () => true,
      );
      if (!(await Promise.race([ended, sleep(closeMs, false, { ref: false })]))) health.failed('timeout');
    },
  };
}

/** Directly, the exporter's own agent is used, which reads further variables of the environment. */
function agentThroughProxy(url: string, proxies: ProxySettings) {
  const target = new URL(url);
  if (proxyFor(target, proxies) === null) return {};
  const agent = openAgent(target, { keepAlive: true }, proxies);
  return { httpAgentOptions: () => agent };
}

/** The service's own name and version; the standard variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come first. */
function resourceOf(process: TraceExport['process']) {
  const own = {
    'service.name': `refund-service-${process}`,
    'service.version': version,
    'host.name': hostname(),
    'process.pid': pid,
  };
  return defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }));
}

/** The span that a refund's trace begins with. Its ids follow from the refund's id, so that every process knows them. */
function rootOf(refundId: string): SpanContext {
  const digest = createHash('sha256').update(refundId).digest('hex');
  return {
    traceId: digest.slice(0, 32),
    spanId: digest.slice(32, 48),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
}

/** Random ids, except for spans whose ids are chosen. */
class ChosenIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #chosen: SpanContext | null = null;

  generateTraceId = () => this.#chosen?.traceId ?? this.#random.generateTraceId();
  generateSpanId = () => this.#chosen?.spanId ?? this.#random.generateSpanId();

  /** Calls `start`, which starts a span without a parent, with these ids. */
  with(chosen: SpanContext, start: () => void): void {
    this.#chosen = chosen;
    try {
      start();
    } finally {
      this.#chosen = null;
    }
  }
}

function contextOf(parent: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

function recordRequest(
  tracer: Tracer,
  ids: ChosenIds,
  { traceparent, refund, ...ended }: TracedRequest,
): void {
  const client = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null;
  const span = { ...ended, kind: 'server' } as const;
  if (refund === null) {
    recordSpan(tracer, client === null ? ROOT_CONTEXT : contextOf({ ...client, isRemote: true }), span);
    return;
  }
  const root = rootOf(refund.id);
  const links = client === null ? [] : [{ context: client }];
  if (refund.isNew) ids.with(root, () => recordSpan(tracer, ROOT_CONTEXT, span, { links }));
  else recordSpan(tracer, contextOf(root), span, { links });
}

/** What happens below a span. */
function below(tracer: Tracer, context: Context): SpanParent {
  return {
    record: (ended) => recordSpan(tracer, context, ended),
    async run(name, work) {
      const span = tracer.startSpan(name, {}, context);
      const open: OpenSpan = {
        ...below(tracer, trace.setSpan(context, span)),
        set: (attributes) => void span.setAttributes(present(attributes)),
      };
      try {
        return await work(open);
      } catch (error) {
        // Without its message, which may contain anything.
        span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
  };
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };

function recordSpan(
  tracer: Tracer,
  context: Context,
  { name, kind, attributes, lastedMs, hasFailed }: EndedSpan,
  options: Pick<SpanOptions, 'links'> = {},
): void {
  const endTime = Date.now();
  const startTime = millisToHrTime(endTime - lastedMs);
  const facts = { kind: kinds[kind], attributes: present(attributes) };
  const span = tracer.startSpan(name, { ...options, ...facts, startTime }, context);
  if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(endTime);
}

function present(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value != null)) as Attributes;
}

/** Logs a line when exports begin to fail, and one when they work again. */
function exportHealth(log: Logger) {
  let isFailing = false;
  return {
    failed(reason: string) {
      if (!isFailing)
        log.warn({ reason }, 'traces cannot be exported; they are dropped until the collector takes them');
      isFailing = true;
    },
    succeeded() {
      if (isFailing) log.info('traces are exported again');
      isFailing = false;
    },
  };
}

function watched(exporter: SpanExporter, health: ReturnType<typeof exportHealth>): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) health.succeeded();
        else health.failed(reasonOf(result.error));
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** Such as ECONNREFUSED, or the status of a response. */
function reasonOf(error: (Error & { code?: unknown }) | undefined): string {
  return String(error?.code ?? error?.message ?? 'unknown');
}
