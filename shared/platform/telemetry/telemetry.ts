import type { Settings } from '../config.ts';
import type { Logger } from '../log.ts';
import type { ProxySettings } from '../outgoing/proxy.ts';

/**
 * Facts of a span. They leave the service: ids, codes and counts, never secrets, amounts or what a client wrote. Absent values
 * are left out.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Something that ends now. */
export interface EndedSpan {
  name: string;
  kind: 'server' | 'client' | 'consumer';
  attributes: SpanAttributes;
  lastedMs: number;
  hasFailed?: boolean;
}

/** A span, or the root of a trace, that others belong to. */
export interface SpanParent {
  /** Records what has ended as a span below this one. */
  record(ended: EndedSpan): void;
  /** Runs `work` as a span below this one, which has failed if `work` throws. */
  run<Result>(name: string, work: (span: OpenSpan) => Promise<Result>): Promise<Result>;
}

/** A span that has not ended. */
export interface OpenSpan extends SpanParent {
  set(attributes: SpanAttributes): void;
}

/** A request that is being answered. */
export interface TracedRequest extends Omit<EndedSpan, 'kind'> {
  /** The `traceparent` header of the client; anything else is ignored. */
  traceparent: unknown;
  /** The refund that it created or changed; null for none. */
  refund: { id: string; isNew: boolean } | null;
}

/** Traces for a collector. All that happens to a refund is one trace, in every process; see docs/decisions/trace-of-a-refund.md. */
export interface Telemetry {
  /** The root of a refund's trace. */
  refund(refundId: string): SpanParent;
  /**
   * Records a request. The one that created a refund is the root of its trace, and one that changed it belongs to that trace; both
   * link to the client's span. Any other one continues the client's trace.
   */
  recordRequest(request: TracedRequest): void;
  /** Exports what has ended, within two seconds. Never throws. */
  close(): Promise<void>;
}

const nowhere: OpenSpan = {
  record() {},
  run: (_name, work) => work(nowhere),
  set() {},
};

/** Records nothing. */
export const noTelemetry: Telemetry = {
  refund: () => nowhere,
  recordRequest() {},
  close: async () => {},
};

type TelemetrySettings = ProxySettings &
  Pick<Settings, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_TRACES_SAMPLER_ARG'>;

/** Exports traces where an endpoint is set. Without one, nothing of OpenTelemetry is loaded. */
export async function openTelemetry(
  settings: TelemetrySettings,
  log: Logger,
  process: 'api' | 'worker',
): Promise<Telemetry> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_TRACES_SAMPLER_ARG: share } = settings;
  if (base === null) return noTelemetry;
  const { exportTraces } = await import('./trace-export.ts');
  const url = `${base.replace(/\/+$/, '')}/v1/traces`;
  return exportTraces({ url, share, process, proxies: settings }, log);
}
