// What `refund-service-client` exports. It imports nothing else of the service.
export { RefundClient } from './client.ts';
export { type ErrorCode, RefundApiError } from './errors.ts';
export type { ClientOptions } from './transport.ts';
export type * from './types.ts';
export { verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './verify-webhook.ts';
