import type { z } from 'zod';
import type { Dependencies } from '#shared/dependencies.ts';
import type { EventFeed } from '#shared/events/feed.ts';
import type { ApiKeyScope } from '#shared/organizations/api-keys.ts';
import type { FairLimit } from '#shared/platform/concurrency/fair-limit.ts';
import type { ServiceSettings } from '#shared/platform/config.ts';
import type { ApiKey } from '#shared/platform/database.ts';
import type { ErrorCode } from '#shared/platform/errors.ts';
import type { InitiatedBy } from '#shared/refund-request/reasons.ts';
import type { RefundWatcher } from '#shared/refunds/lifecycle/refund-watcher.ts';
import type { GivenKey, RequestOutcome } from '#shared/refunds/requests/key-requests.ts';

/** What operations need, beside what every process has. */
export interface OperationDependencies extends Dependencies {
  watcher: RefundWatcher;
  feed: EventFeed;
  /** For reads that may take seconds: other organizations need connections as well. */
  slowReads: FairLimit;
}

/**
 * An operation of the public API. Its route, its entry in the OpenAPI document, its tool for agents and the tests of access
 * follow from this.
 */
interface Definition<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> {
  id: string;
  /** Method and path. */
  route: `${Route['method']} /v1/${string}`;
  scope: ApiKeyScope;
  /** A second one that it needs, because of what the operation gives access to. */
  alsoNeeds?: ApiKeyScope;
  tag:
    | 'Refunds'
    | 'Refund batches'
    | 'Payments'
    | 'Accounts'
    | 'Events'
    | 'Policies'
    | 'Agent keys'
    | 'Webhooks';
  summary: string;
  description: string;
  /** True when a caller may name the request with an idempotency key. */
  isIdempotent?: true;
  /** How long it waits unless the caller says so, in milliseconds. Without it, it waits for nothing. */
  defaultWaitMs?(settings: ServiceSettings): number;
  /** True when it may have to read a payment at its processor. */
  asksProcessor?: true;
  params?: Params;
  /** Other parameters are refused. */
  query?: Query;
  /** For a body that is larger than others; few such requests are handled at once. */
  bodyLimitBytes?: number;
  /** Reads a body of the media type text/csv, which is then validated as one in JSON. @throws ServiceError validation_error */
  readCsv?(text: string): Promise<z.input<Body>>;
  /** Without a schema a body is ignored. A body that its schema lets be undefined may be left out. */
  body?: Body | ((deps: OperationDependencies) => Body);
  output: Output;
  /** What the output is, for the reference. */
  answer: string;
  /** Examples of the output by name; made from those of the schema by default. */
  examples?: Record<string, z.output<Output>>;
  /** True for an output that has `data` itself; any other is the `data` of the answer. */
  hasData?: true;
  /** Besides those that follow from the rest of the definition. */
  errors?: readonly ErrorCode[];
  /** The same answer for a caller that prefers text/csv, without pages. Few such requests are handled at once. */
  csv?(deps: OperationDependencies, call: Call<z.output<Params>, z.output<Query>>): Promise<string>;
  /** @throws ServiceError for what is refused. */
  run(
    deps: OperationDependencies,
    call: Call<z.output<Params>, z.output<Query>, z.output<Body>>,
  ): Promise<z.output<Output>>;
}

interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
}

export type Operation = Definition & Route;

/** A valid request for an operation. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  apiKey: ApiKey;
  /** The key as events and the audit log name it. */
  actor: string;
  /** Where the caller is connected. */
  source: InitiatedBy;
  params: Params;
  query: Query;
  body: Body;
  idempotency: GivenKey | null;
  /** How long it may wait; 0 while as many requests wait as may. */
  waitMs: number;
  /** Passes on what an outcome has besides its answer, such as the id of the refund on record. @returns the answer. @throws the refusal. */
  report<Answer>(outcome: RequestOutcome<Answer>): Answer;
}

/** Makes an operation, and checks its types, which a list of operations does not keep. */
export function operation<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Output extends z.ZodType,
>(definition: Definition<Params, Query, Body, Output>): Definition<Params, Query, Body, Output> & Route {
  const [method, path] = definition.route.split(' ') as [Route['method'], string];
  return { ...definition, method, path };
}
