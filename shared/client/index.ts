// The package's `./client`. It imports nothing else of the service.
export { RefundClient } from './client.ts';
export { type ErrorCode, RefundApiError } from './errors.ts';
export type { ClientOptions } from './transport.ts';
export type {
  AgentKey,
  ChangeAgentKey,
  ChangeWebhookEndpoint,
  CheckPolicy,
  CreateAgentKey,
  CreatedAgentKey,
  CreateRefund,
  CreateWebhookEndpoint,
  DetailedRefund,
  EventPage,
  GetRefund,
  IdempotentOptions,
  ListDeliveries,
  ListEvents,
  ListRefunds,
  PolicyCheck,
  Refund,
  RefundDryRun,
  RefundEvent,
  RefundFilters,
  RejectRefund,
  ReplayWebhooks,
  RequestOptions,
  RotateWebhookSecret,
  TestEvent,
  WaitOptions,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from './types.ts';
export { verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './verify-webhook.ts';
