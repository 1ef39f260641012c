import type { components, operations } from './openapi.ts';

/** Optional properties may also be undefined, under `exactOptionalPropertyTypes` too: they are left out of the request. */
type Loose<Content> = {
  [Name in keyof Content]: Record<never, never> extends Pick<Content, Name>
    ? Content[Name] | undefined
    : Content[Name];
};

type Schemas = components['schemas'];

/** The body of an operation's request. */
type BodyOf<Name extends keyof operations> = operations[Name] extends {
  requestBody?: { content: { 'application/json': infer Body } };
}
  ? Loose<NonNullable<Body>>
  : never;

export type Refund = Schemas['Refund'];
export type DetailedRefund = Schemas['DetailedRefund'];
export type CreateRefund = Omit<BodyOf<'createRefund'>, 'dryRun' | 'amount' | 'remaining'> &
  ({ amount: number; remaining?: undefined } | { remaining: true; amount?: undefined });
export type UpdateRefund = BodyOf<'updateRefund'>;
export type RejectRefund = BodyOf<'rejectRefund'>;
export type RefundDryRun = Schemas['RefundDryRun'];
export type Payment = Schemas['Payment'];
export type Account = Schemas['Account'];
export type RefundBatch = Schemas['RefundBatch'];
export type DetailedRefundBatch = Schemas['DetailedRefundBatch'];
export type RefundBatchResult = Schemas['RefundBatchResult'];
export type CreateRefundBatch = { rows: (CreateRefund & { idempotencyKey?: string | undefined })[] };
export type PolicyCheck = Schemas['PolicyCheck'];
export type CheckPolicy = BodyOf<'checkPolicy'>;
export type PolicyReplay = Schemas['PolicyReplay'];
export type ReplayPolicies = BodyOf<'replayPolicies'>;
export type RefundEvent = Schemas['Event'];
export type RootEvent = Schemas['RootEvent'];
export type TestEvent = Schemas['TestEvent'];
export type WebhookEndpoint = Schemas['WebhookEndpoint'];
export type WebhookEndpointWithSecret = Schemas['WebhookEndpointWithSecret'];
export type CreateWebhookEndpoint = BodyOf<'createWebhookEndpoint'>;
export type ChangeWebhookEndpoint = BodyOf<'changeWebhookEndpoint'>;
export type RotateWebhookSecret = BodyOf<'rotateWebhookSecret'>;
export type ReplayWebhooks = BodyOf<'replayWebhookDeliveries'>;
export type ReplayMissingWebhooks = BodyOf<'replayMissingWebhooks'>;
export type WebhookDelivery = Schemas['WebhookDelivery'];
export type AgentKey = Schemas['AgentKey'];
export type CreatedAgentKey = Schemas['CreatedAgentKey'];
export type CreateAgentKey = BodyOf<'createAgentKey'>;
export type ChangeAgentKey = BodyOf<'changeAgentKey'>;

/** The query parameters of an operation. */
type QueryOf<Name extends keyof operations> = Loose<NonNullable<operations[Name]['parameters']['query']>>;

export type RefundFilters = Omit<QueryOf<'listRefunds'>, 'after' | 'limit' | 'offset'>;
export type ListRefunds = QueryOf<'listRefunds'> & RequestOptions;
export type GetRefund = QueryOf<'getRefund'> & WaitOptions;
export type GetPayment = QueryOf<'getPayment'> & RequestOptions;
export type ListRefundBatches = QueryOf<'listRefundBatches'> & RequestOptions;
export type ListRefundBatchResults = QueryOf<'listRefundBatchResults'> & RequestOptions;
export type ListDeliveries = QueryOf<'listWebhookDeliveries'> & RequestOptions;
export type ListEvents = QueryOf<'listEvents'> & WaitOptions;
export type EventPage = operations['listEvents']['responses'][200]['content']['application/json'];

export interface RequestOptions {
  /** Ends the request, and its retries, when it is aborted. The call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface WaitOptions extends RequestOptions {
  /** Seconds that the service may wait before it answers (`Prefer: wait=N`); 0 does not wait. */
  wait?: number | undefined;
}

export interface IdempotentOptions extends WaitOptions {
  /** 1 to 255 visible ASCII characters. Default: a new one for each call, kept over the call's own retries. */
  idempotencyKey?: string | undefined;
}
