// Written by `npm run client:types` from the OpenAPI document. Do not edit.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Liveness
         * @description Responds while the process runs, whether or not its dependencies are available.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readiness
         * @description `degraded`: the queue is down; refunds are accepted and processed once it is back. `overloaded`: the process has too many requests.
         */
        get: operations["readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List refunds
         * @description Newest first. All filters that are given have to match. A page with fewer refunds than `limit` is the last one; continue with `after` set to the id of the last refund.
         */
        get: operations["listRefunds"];
        put?: never;
        /**
         * Create a refund
         * @description Responds when the processor has accepted or rejected the refund, or after a few seconds, in which case the refund is recorded and processed later. A rejected refund stays on record as failed; `Location` names it. With `dryRun` it responds at once with what the creation would come to, and creates nothing.
         */
        post: operations["createRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a refund
         * @description With `Prefer: wait=N` it responds when the status changes, or after N seconds.
         */
        get: operations["getRefund"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a refund
         * @description A refund that was not sent to the processor yet is cancelled immediately. Otherwise the processor has to confirm the cancellation; until then the refund stays as it is. An agent key may cancel only refunds that it requested. A body is ignored.
         */
        post: operations["cancelRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve a refund
         * @description A refund that awaits approval is sent to its processor. It takes two people: neither the key that requested the refund may approve it, nor any other key of the person behind that key or of someone whom a recent invitation connects with that person. A body is ignored.
         */
        post: operations["approveRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a refund
         * @description A refund that awaits approval is cancelled and never sent. Its amount becomes refundable again.
         */
        post: operations["rejectRefund"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/refunds/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a refund's events
         * @description All events of one refund, oldest first.
         */
        get: operations["listRefundEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events
         * @description All events of all refunds, oldest first, without gaps or repeats: continue with `after` set to `nextAfter`. With `Prefer: wait=N` an empty page is sent only after N seconds; an event is sent as soon as there is one.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/policies/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check refund eligibility
         * @description Evaluates the organization's policies. An ineligible payment also gets a 200 response.
         */
        post: operations["checkPolicy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agent-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List agent keys
         * @description The agent keys in the calling key's organization and environment that are not revoked, newest first.
         */
        get: operations["listAgentKeys"];
        put?: never;
        /**
         * Create an agent key
         * @description Creates an API key for an agent, in the organization and environment of the calling key. The person behind the calling key cannot approve what the agent requests.
         */
        post: operations["createAgentKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/agent-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an agent key
         * @description Requests with the key fail from the next one on. This can't be undone.
         */
        delete: operations["revokeAgentKey"];
        options?: never;
        head?: never;
        /**
         * Change an agent key
         * @description Takes effect with the next request of the agent. What is left out stays as it is; `limits` replaces all limits.
         */
        patch: operations["changeAgentKey"];
        trace?: never;
    };
    "/v1/webhook-endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhook endpoints
         * @description All endpoints of the environment, newest first, without their secrets.
         */
        get: operations["listWebhookEndpoints"];
        put?: never;
        /**
         * Create a webhook endpoint
         * @description Sends the events that happen from now on to a URL, signed with the secret in the response. An organization has at most 16 endpoints per environment.
         */
        post: operations["createWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a webhook endpoint
         * @description The endpoint without its secret.
         */
        get: operations["getWebhookEndpoint"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint
         * @description Nothing more is sent to the endpoint, also not what is pending. A body is ignored.
         */
        delete: operations["deleteWebhookEndpoint"];
        options?: never;
        head?: never;
        /**
         * Change a webhook endpoint
         * @description Changes the given fields. Disabling ends the pending deliveries as `failed`; events that happen while the endpoint is disabled are not sent to it, also not later.
         */
        patch: operations["changeWebhookEndpoint"];
        trace?: never;
    };
    "/v1/webhook-endpoints/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the secret of a webhook endpoint
         * @description Until the overlap ends, each request carries a signature by the new secret and by every secret that was valid before, so a receiver works with any of them. A second rotation keeps those of the first; the newest five sign.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description Sends an event of the type `webhook.test` now, also if the filter of the endpoint leaves the type out. Its delivery is in the list of deliveries; the event is not in the feed. A disabled endpoint is refused. A body is ignored.
         */
        post: operations["testWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries
         * @description What was sent to the endpoint and what is pending, newest first, with every attempt. A page with fewer deliveries than `limit` is the last one.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{id}/deliveries/{deliveryId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a delivery
         * @description Attempts the delivery now, in place of the scheduled attempt; also one that succeeded or failed. While an attempt is under way, the next one follows as soon as it fails. A disabled endpoint is refused. A body is ignored.
         */
        post: operations["retryWebhookDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replay deliveries
         * @description Attempts the deliveries again that were created since a time: the failed ones, unless another status is given. At most 10000 at once, the oldest first. The events keep their ids. A disabled endpoint is refused.
         */
        post: operations["replayWebhookDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "refund.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * refund.created
         * @description Sent to endpoints that chose this type or all types.
         */
        post: operations["onRefundCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "refund.approval_required": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * refund.approval_required
         * @description Sent to endpoints that chose this type or all types.
         */
        post: operations["onRefundApprovalRequired"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "refund.processing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * refund.processing
         * @description Sent to endpoints that chose this type or all types.
         */
        post: operations["onRefundProcessing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "refund.completed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * refund.completed
         * @description Sent to endpoints that chose this type or all types.
         */
        post: operations["onRefundCompleted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "refund.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * refund.failed
         * @description Sent to endpoints that chose this type or all types.
         */
        post: operations["onRefundFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "refund.cancelled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * refund.cancelled
         * @description Sent to endpoints that chose this type or all types.
         */
        post: operations["onRefundCancelled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "webhook.test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * webhook.test
         * @description Sent on request, to see whether an endpoint works. It is not in the feed.
         */
        post: operations["onWebhookTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /**
         * @description The body of every error response.
         *
         *     | Status | Code | Meaning |
         *     |---|---|---|
         *     | 400 | `validation_error` | The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. |
         *     | 400 | `invalid_signature` | The signature of a processor webhook does not match the account, or the webhook is too old. |
         *     | 401 | `invalid_api_key` | The Authorization header is missing or malformed, or its key is unknown, revoked or expired. |
         *     | 403 | `policy_denied` | A refund policy that the organization enforces, or the limits of an agent key, do not allow this refund. |
         *     | 403 | `insufficient_scope` | The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. |
         *     | 404 | `not_found` | The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. |
         *     | 405 | `method_not_allowed` | The route exists but does not support this method. |
         *     | 409 | `refund_already_processed` | The payment has already been refunded in full, through this service or directly at the processor. |
         *     | 409 | `refund_not_cancellable` | The refund can no longer be cancelled, or the processor has not confirmed the cancellation yet. The message names its status. |
         *     | 409 | `refund_not_pending` | The refund is not awaiting approval, for example because another decision came first. The message names its status. |
         *     | 409 | `refund_flagged` | The processor has a second refund with the reference of this one, so it cannot be approved: the customer could be paid twice. |
         *     | 413 | `payload_too_large` | The body is larger than 64 KiB (256 KiB for processor webhooks). |
         *     | 415 | `unsupported_media_type` | The media type or encoding of the body is not supported. |
         *     | 422 | `idempotency_key_reused` | The `Idempotency-Key` was used before with a different request. |
         *     | 429 | `rate_limited` | Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. |
         *     | 500 | `internal_error` | An unexpected error in this service. The change may or may not have been recorded. |
         *     | 502 | `processor_error` | The payment processor rejected the request or the account's credentials. The message carries the processor's reason. |
         *     | 503 | `service_unavailable` | The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. |
         * @example {
         *       "error": {
         *         "message": "Refund not found.",
         *         "code": "not_found"
         *       }
         *     }
         */
        Error: {
            error: {
                /** @description For people: what is wrong and what to do. */
                message: string;
                /**
                 * @description For programs.
                 * @enum {string}
                 */
                code: "validation_error" | "invalid_signature" | "invalid_api_key" | "policy_denied" | "insufficient_scope" | "not_found" | "method_not_allowed" | "refund_already_processed" | "refund_not_cancellable" | "refund_not_pending" | "refund_flagged" | "payload_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "rate_limited" | "internal_error" | "processor_error" | "service_unavailable";
            };
        };
        /**
         * @description An API key made for agents.
         * @example {
         *       "id": "key_01kahw5e2pf9c8m0r4t6v8x1zb",
         *       "name": "Support agent",
         *       "environment": "test",
         *       "lastFour": "x7Qa",
         *       "scopes": [
         *         "refunds:read",
         *         "refunds:write",
         *         "policies:read"
         *       ],
         *       "limits": {
         *         "currency": "usd",
         *         "maxPerRefund": 5000,
         *         "maxPerDay": 50000,
         *         "reasons": [
         *           "product_not_received",
         *           "product_defective"
         *         ],
         *         "approvalAbove": 2000
         *       },
         *       "status": "active",
         *       "createdBy": "key:key_01kahvzr0b7qv3s5j8n2d4f6hk",
         *       "createdAt": "2026-11-20T09:30:00.000Z",
         *       "lastUsedAt": null,
         *       "expiresAt": null
         *     }
         */
        AgentKey: {
            /** @description Opaque, prefixed with key_. */
            id: string;
            /** @description As it was given. */
            name: string;
            /**
             * @description That of the key which created it.
             * @enum {string}
             */
            environment: "live" | "test";
            /** @description The last four characters of the key. */
            lastFour: string;
            /** @description What the key may do. */
            scopes: ("refunds:read" | "refunds:write" | "policies:read")[];
            /**
             * @description What an agent may refund with a key, in the smallest unit of `currency`, inclusive. What is left out does not limit.
             * @example {
             *       "currency": "usd",
             *       "maxPerRefund": 5000,
             *       "maxPerDay": 50000,
             *       "reasons": [
             *         "product_not_received",
             *         "product_defective"
             *       ],
             *       "approvalAbove": 2000
             *     }
             */
            limits: {
                /** @description ISO 4217. Refunds in another currency are refused. */
                currency: string;
                /** @description The most of one refund. */
                maxPerRefund?: number;
                /** @description The most of all refunds of one payment together. */
                maxPerPayment?: number;
                /** @description The most that this key may request in 24 hours. */
                maxPerDay?: number;
                /** @description The reasons that are allowed; any unless given. */
                reasons?: ("product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other")[];
                /** @description A refund awaits approval if all refunds of its payment come to more than this. */
                approvalAbove?: number;
            };
            /**
             * @description A stopped key gets a 403 response, an expired one a 401.
             * @enum {string}
             */
            status: "active" | "stopped" | "expired";
            /** @description `key:<id>` for a key that was created through the API. */
            createdBy: string;
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description To the minute.
             */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When the key stops working; null for never.
             */
            expiresAt: string | null;
        };
        /**
         * @example {
         *       "id": "key_01kahw5e2pf9c8m0r4t6v8x1zb",
         *       "name": "Support agent",
         *       "environment": "test",
         *       "lastFour": "x7Qa",
         *       "scopes": [
         *         "refunds:read",
         *         "refunds:write",
         *         "policies:read"
         *       ],
         *       "limits": {
         *         "currency": "usd",
         *         "maxPerRefund": 5000,
         *         "maxPerDay": 50000,
         *         "reasons": [
         *           "product_not_received",
         *           "product_defective"
         *         ],
         *         "approvalAbove": 2000
         *       },
         *       "status": "active",
         *       "createdBy": "key:key_01kahvzr0b7qv3s5j8n2d4f6hk",
         *       "createdAt": "2026-11-20T09:30:00.000Z",
         *       "lastUsedAt": null,
         *       "expiresAt": null,
         *       "key": "svc_test_Zk3vB8nQ1rT6yW0cE5gJ9mP2sX4ax7Qa"
         *     }
         */
        CreatedAgentKey: {
            /** @description Opaque, prefixed with key_. */
            id: string;
            /** @description As it was given. */
            name: string;
            /**
             * @description That of the key which created it.
             * @enum {string}
             */
            environment: "live" | "test";
            /** @description The last four characters of the key. */
            lastFour: string;
            /** @description What the key may do. */
            scopes: ("refunds:read" | "refunds:write" | "policies:read")[];
            /**
             * @description What an agent may refund with a key, in the smallest unit of `currency`, inclusive. What is left out does not limit.
             * @example {
             *       "currency": "usd",
             *       "maxPerRefund": 5000,
             *       "maxPerDay": 50000,
             *       "reasons": [
             *         "product_not_received",
             *         "product_defective"
             *       ],
             *       "approvalAbove": 2000
             *     }
             */
            limits: {
                /** @description ISO 4217. Refunds in another currency are refused. */
                currency: string;
                /** @description The most of one refund. */
                maxPerRefund?: number;
                /** @description The most of all refunds of one payment together. */
                maxPerPayment?: number;
                /** @description The most that this key may request in 24 hours. */
                maxPerDay?: number;
                /** @description The reasons that are allowed; any unless given. */
                reasons?: ("product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other")[];
                /** @description A refund awaits approval if all refunds of its payment come to more than this. */
                approvalAbove?: number;
            };
            /**
             * @description A stopped key gets a 403 response, an expired one a 401.
             * @enum {string}
             */
            status: "active" | "stopped" | "expired";
            /** @description `key:<id>` for a key that was created through the API. */
            createdBy: string;
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description To the minute.
             */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When the key stops working; null for never.
             */
            expiresAt: string | null;
            /** @description The API key itself. It is shown only here. */
            key: string;
        };
        /**
         * @description A URL that events are sent to.
         * @example {
         *       "id": "we_01kahw4c0af8ktq9m1rj6z2e5n",
         *       "url": "https://example.com/webhooks/refunds",
         *       "events": [
         *         "refund.completed",
         *         "refund.failed"
         *       ],
         *       "description": "Order service",
         *       "status": "enabled",
         *       "disabledReason": null,
         *       "createdAt": "2026-11-20T09:00:00.000Z",
         *       "updatedAt": "2026-11-20T09:00:00.000Z"
         *     }
         */
        WebhookEndpoint: {
            /** @description Opaque, prefixed with we_. */
            id: string;
            /** @description Where events are sent, by POST. */
            url: string;
            /** @description The types of events that are sent, or `["*"]` for all, also those that are added later. */
            events: ("*" | "refund.created" | "refund.approval_required" | "refund.processing" | "refund.completed" | "refund.failed" | "refund.cancelled")[];
            /** @description A note for you; null when none. */
            description: string | null;
            /**
             * @description A disabled endpoint is sent nothing.
             * @enum {string}
             */
            status: "enabled" | "disabled";
            /** @description Null while enabled. `requested`: disabled by a request. `gone`: the endpoint replied 410 Gone. `failing`: every attempt failed for five days. */
            disabledReason: ("requested" | "gone" | "failing") | null;
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description The last change of the endpoint.
             */
            updatedAt: string;
        };
        /**
         * @description A webhook endpoint with its new secret.
         * @example {
         *       "id": "we_01kahw4c0af8ktq9m1rj6z2e5n",
         *       "url": "https://example.com/webhooks/refunds",
         *       "events": [
         *         "refund.completed",
         *         "refund.failed"
         *       ],
         *       "description": "Order service",
         *       "status": "enabled",
         *       "disabledReason": null,
         *       "createdAt": "2026-11-20T09:00:00.000Z",
         *       "updatedAt": "2026-11-20T09:00:00.000Z",
         *       "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
         *     }
         */
        WebhookEndpointWithSecret: {
            /** @description Opaque, prefixed with we_. */
            id: string;
            /** @description Where events are sent, by POST. */
            url: string;
            /** @description The types of events that are sent, or `["*"]` for all, also those that are added later. */
            events: ("*" | "refund.created" | "refund.approval_required" | "refund.processing" | "refund.completed" | "refund.failed" | "refund.cancelled")[];
            /** @description A note for you; null when none. */
            description: string | null;
            /**
             * @description A disabled endpoint is sent nothing.
             * @enum {string}
             */
            status: "enabled" | "disabled";
            /** @description Null while enabled. `requested`: disabled by a request. `gone`: the endpoint replied 410 Gone. `failing`: every attempt failed for five days. */
            disabledReason: ("requested" | "gone" | "failing") | null;
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description The last change of the endpoint.
             */
            updatedAt: string;
            /** @description Verifies the signatures (Standard Webhooks). Shown only here; store it. */
            secret: string;
        };
        /**
         * @example {
         *       "id": "we_01kahw4c0af8ktq9m1rj6z2e5n",
         *       "deleted": true
         *     }
         */
        DeletedWebhookEndpoint: {
            /** @description The id of the endpoint. */
            id: string;
            /**
             * @description Always true.
             * @constant
             */
            deleted: true;
        };
        /**
         * @description One event for one endpoint, with every attempt.
         * @example {
         *       "id": "del_01kahw4f2vexrvhq3s8m7k1dpb",
         *       "eventId": "evt_01kahw3xs5fv2rj0c8m4t9p6ye",
         *       "type": "refund.completed",
         *       "status": "pending",
         *       "nextAttemptAt": "2026-11-20T09:30:07.400Z",
         *       "attempts": [
         *         {
         *           "startedAt": "2026-11-20T09:30:02.150Z",
         *           "durationMs": 84,
         *           "responseStatus": 500,
         *           "error": "unsuccessful_status",
         *           "responseBody": "Internal Server Error"
         *         }
         *       ]
         *     }
         */
        WebhookDelivery: {
            /** @description Opaque, prefixed with del_. */
            id: string;
            /** @description The event that is sent; the `webhook-id` of every attempt. */
            eventId: string;
            /**
             * @description The type of the event.
             * @enum {string}
             */
            type: "refund.created" | "refund.approval_required" | "refund.processing" | "refund.completed" | "refund.failed" | "refund.cancelled" | "webhook.test";
            /**
             * @description `pending`: an attempt is under way or follows. `succeeded`: the endpoint replied 2xx. `failed`: no attempt follows.
             * @enum {string}
             */
            status: "pending" | "succeeded" | "failed";
            /**
             * Format: date-time
             * @description When the next attempt is due. During an attempt: when it is repeated if its worker stops. Null if none follows.
             */
            nextAttemptAt: string | null;
            /** @description The last 20, the oldest first. */
            attempts: {
                /**
                 * Format: date-time
                 * @description UTC, with milliseconds.
                 */
                startedAt: string;
                /** @description Null while it is under way, and when its worker was stopped. */
                durationMs: number | null;
                /** @description The HTTP status; null without a response. */
                responseStatus: number | null;
                /** @description Why it failed; null when it did not. More codes may follow. `unsuccessful_status`: The endpoint did not respond with a 2xx status. `redirect`: The endpoint responded with a redirect, which is not followed. `timeout`: The response was not complete after 15 seconds. `dns_failed`: The endpoint's host name could not be resolved. `connection_failed`: No connection could be made to the endpoint. `connection_closed`: The endpoint closed the connection before the response was complete. `tls_failed`: No secure connection could be made, for example because of an invalid certificate. `invalid_response`: The response was not valid HTTP. `address_not_public`: The endpoint is not on the public internet. `https_required`: The URL of the endpoint does not begin with https://. `not_sent`: The service could not send the request. `interrupted`: The worker ended during the attempt. The endpoint may have received the request. */
                error: string | null;
                /** @description The beginning of the response. */
                responseBody: string | null;
            }[];
        };
        /**
         * @example {
         *       "count": 12
         *     }
         */
        ReplayedWebhooks: {
            /** @description How many deliveries are attempted again. */
            count: number;
        };
        /**
         * @description A refund and its status.
         * @example {
         *       "id": "ref_01kahw3v6me8fbw6r5k2jdz7qs",
         *       "organizationId": "org_01kahvzq3hfa8t8s1kxm1n0c4v",
         *       "externalRefundId": "re_3QfX2eLkdIwHu7ix0b1Zp9aN",
         *       "transactionId": "ch_3QfX2eLkdIwHu7ix",
         *       "amount": 1500,
         *       "currency": "usd",
         *       "reason": "product_defective",
         *       "status": "processing",
         *       "processor": "stripe",
         *       "metadata": {
         *         "ticket": "T-1001"
         *       },
         *       "initiatedBy": "api",
         *       "createdAt": "2026-11-20T09:30:00.000Z",
         *       "updatedAt": "2026-11-20T09:30:00.000Z"
         *     }
         */
        Refund: {
            /** @description Opaque, prefixed with ref_. */
            id: string;
            /** @description The organization that owns the refund; prefixed with org_. */
            organizationId: string;
            /** @description The processor's id; null until it has one. */
            externalRefundId: string | null;
            /** @description The id of the charge or payment at the processor. */
            transactionId: string;
            /** @description In the smallest unit of the currency, for example cents. */
            amount: number;
            /** @description ISO 4217, lowercase. */
            currency: string;
            /**
             * @description Why the payment is refunded.
             * @enum {string}
             */
            reason: "product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other";
            /**
             * @description `pending` is awaiting approval, `processing` is at or on its way to the processor. `completed`, `failed` and `cancelled` are final, except that a `completed` refund becomes `failed` when the processor returns the money.
             * @enum {string}
             */
            status: "pending" | "processing" | "completed" | "failed" | "cancelled";
            /** @description The payment processor that holds the payment. */
            processor: string;
            /** @description As given at creation; null when none. */
            metadata: {
                [key: string]: unknown;
            } | null;
            /**
             * @description Where the refund was requested.
             * @enum {string}
             */
            initiatedBy: "api" | "dashboard" | "mcp";
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description The last change of the refund, here or at the processor; `createdAt` before any.
             */
            updatedAt: string;
        };
        /**
         * @description What a creation would come to. Nothing is reserved, sent or stored.
         * @example {
         *       "wouldCreate": true,
         *       "status": "processing",
         *       "error": null,
         *       "policy": {
         *         "name": "Default 30-day policy",
         *         "eligible": true,
         *         "trace": [
         *           "policy \"Default 30-day policy\" with priority 100: matches",
         *           "not fully refunded: passed",
         *           "refund window: passed",
         *           "amount: passed"
         *         ]
         *       },
         *       "maxAmount": 10000
         *     }
         * @example {
         *       "wouldCreate": false,
         *       "status": null,
         *       "error": {
         *         "code": "validation_error",
         *         "message": "amount: must be at most 1000 (10.00 USD), which is left to refund."
         *       },
         *       "policy": {
         *         "name": "Default 30-day policy",
         *         "eligible": false,
         *         "trace": [
         *           "policy \"Default 30-day policy\" with priority 100: matches",
         *           "not fully refunded: passed",
         *           "refund window: passed",
         *           "amount: denied"
         *         ]
         *       },
         *       "maxAmount": 1000
         *     }
         */
        RefundDryRun: {
            /** @description Whether the same request without `dryRun` would create a refund now. False without an error when its Idempotency-Key already has a refund. */
            wouldCreate: boolean;
            /** @description The status in which the refund would start; null when none would be created. */
            status: ("pending" | "processing") | null;
            /** @description The error that the creation would get; null when there is none. */
            error: {
                /**
                 * @description For programs.
                 * @enum {string}
                 */
                code: "validation_error" | "invalid_signature" | "invalid_api_key" | "policy_denied" | "insufficient_scope" | "not_found" | "method_not_allowed" | "refund_already_processed" | "refund_not_cancellable" | "refund_not_pending" | "refund_flagged" | "payload_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "rate_limited" | "internal_error" | "processor_error" | "service_unavailable";
                /** @description For people: what is wrong and what to do. */
                message: string;
            } | null;
            /** @description The policy that decides; null when none matches, or the payment is not known. */
            policy: {
                /** @description The name of the policy. */
                name: string;
                /** @description Whether the policy allows the refund. A policy that is not enforced only advises. */
                eligible: boolean;
                /** @description How it was decided, step by step, for people. */
                trace: string[];
            } | null;
            /** @description The most that can be refunded now, in the smallest unit of the currency; 0 when nothing is left. */
            maxAmount: number;
        };
        /**
         * @description A refund, with the fields that were asked for.
         * @example {
         *       "id": "ref_01kahw3v6me8fbw6r5k2jdz7qs",
         *       "organizationId": "org_01kahvzq3hfa8t8s1kxm1n0c4v",
         *       "externalRefundId": "re_3QfX2eLkdIwHu7ix0b1Zp9aN",
         *       "transactionId": "ch_3QfX2eLkdIwHu7ix",
         *       "amount": 1500,
         *       "currency": "usd",
         *       "reason": "product_defective",
         *       "status": "processing",
         *       "processor": "stripe",
         *       "metadata": {
         *         "ticket": "T-1001"
         *       },
         *       "initiatedBy": "api",
         *       "createdAt": "2026-11-20T09:30:00.000Z",
         *       "updatedAt": "2026-11-20T09:30:00.000Z"
         *     }
         * @example {
         *       "id": "ref_01kahw3v6me8fbw6r5k2jdz7qs",
         *       "organizationId": "org_01kahvzq3hfa8t8s1kxm1n0c4v",
         *       "externalRefundId": "re_3QfX2eLkdIwHu7ix0b1Zp9aN",
         *       "transactionId": "ch_3QfX2eLkdIwHu7ix",
         *       "amount": 1500,
         *       "currency": "usd",
         *       "reason": "product_defective",
         *       "status": "processing",
         *       "processor": "stripe",
         *       "metadata": {
         *         "ticket": "T-1001"
         *       },
         *       "initiatedBy": "api",
         *       "createdAt": "2026-11-20T09:30:00.000Z",
         *       "updatedAt": "2026-11-20T09:30:00.000Z",
         *       "failure": null,
         *       "cancellable": false
         *     }
         */
        DetailedRefund: {
            /** @description Opaque, prefixed with ref_. */
            id: string;
            /** @description The organization that owns the refund; prefixed with org_. */
            organizationId: string;
            /** @description The processor's id; null until it has one. */
            externalRefundId: string | null;
            /** @description The id of the charge or payment at the processor. */
            transactionId: string;
            /** @description In the smallest unit of the currency, for example cents. */
            amount: number;
            /** @description ISO 4217, lowercase. */
            currency: string;
            /**
             * @description Why the payment is refunded.
             * @enum {string}
             */
            reason: "product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other";
            /**
             * @description `pending` is awaiting approval, `processing` is at or on its way to the processor. `completed`, `failed` and `cancelled` are final, except that a `completed` refund becomes `failed` when the processor returns the money.
             * @enum {string}
             */
            status: "pending" | "processing" | "completed" | "failed" | "cancelled";
            /** @description The payment processor that holds the payment. */
            processor: string;
            /** @description As given at creation; null when none. */
            metadata: {
                [key: string]: unknown;
            } | null;
            /**
             * @description Where the refund was requested.
             * @enum {string}
             */
            initiatedBy: "api" | "dashboard" | "mcp";
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description The last change of the refund, here or at the processor; `createdAt` before any.
             */
            updatedAt: string;
            /** @description With `include=failure`: why the refund failed; null for any other status. */
            failure?: {
                /** @description For programs, for example card_declined. */
                code: string;
                /** @description For people. */
                message: string;
            } | null;
            /** @description With `include=cancellable`: whether a cancellation sent now can succeed. */
            cancellable?: boolean;
        };
        /**
         * @description A change of a refund.
         * @example {
         *       "id": "evt_01kahw3xs5fv2rj0c8m4t9p6ye",
         *       "type": "refund.completed",
         *       "createdAt": "2026-11-20T09:30:02.000Z",
         *       "refundId": "ref_01kahw3v6me8fbw6r5k2jdz7qs",
         *       "seq": 4,
         *       "previousStatus": "processing",
         *       "failure": null,
         *       "data": {
         *         "refund": {
         *           "id": "ref_01kahw3v6me8fbw6r5k2jdz7qs",
         *           "organizationId": "org_01kahvzq3hfa8t8s1kxm1n0c4v",
         *           "externalRefundId": "re_3QfX2eLkdIwHu7ix0b1Zp9aN",
         *           "transactionId": "ch_3QfX2eLkdIwHu7ix",
         *           "amount": 1500,
         *           "currency": "usd",
         *           "reason": "product_defective",
         *           "status": "completed",
         *           "processor": "stripe",
         *           "metadata": {
         *             "ticket": "T-1001"
         *           },
         *           "initiatedBy": "api",
         *           "createdAt": "2026-11-20T09:30:00.000Z",
         *           "updatedAt": "2026-11-20T09:30:02.000Z"
         *         }
         *       }
         *     }
         */
        Event: {
            /** @description Opaque, prefixed with evt_. */
            id: string;
            /**
             * @description What happened.
             * @enum {string}
             */
            type: "refund.created" | "refund.approval_required" | "refund.processing" | "refund.completed" | "refund.failed" | "refund.cancelled";
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /** @description The id of the refund. */
            refundId: string;
            /** @description Rises with every event of the refund; numbers may be left out. */
            seq: number;
            /** @description The status before; null for `refund.created` and where the status did not change. */
            previousStatus: ("pending" | "processing" | "completed" | "failed" | "cancelled") | null;
            /** @description Why the refund failed; null for every other type. */
            failure: {
                /** @description For programs, for example card_declined. */
                code: string;
                /** @description For people. */
                message: string;
            } | null;
            /** @description The refund as it was right after the event. */
            data: {
                refund: components["schemas"]["Refund"];
            };
        };
        /**
         * @description Shows that a webhook endpoint works.
         * @example {
         *       "id": "evt_01kahw6q0hfn3t5v7x9z1b3d5f",
         *       "type": "webhook.test",
         *       "createdAt": "2026-11-20T09:30:02.000Z",
         *       "refundId": null,
         *       "seq": null,
         *       "previousStatus": null,
         *       "failure": null,
         *       "data": {}
         *     }
         */
        TestEvent: {
            /** @description Opaque, prefixed with evt_. */
            id: string;
            /**
             * @description Always webhook.test.
             * @constant
             */
            type: "webhook.test";
            /**
             * Format: date-time
             * @description UTC, with milliseconds.
             */
            createdAt: string;
            /** @description A test event is about no refund. */
            refundId: null;
            /** @description Always null. */
            seq: null;
            /** @description Always null. */
            previousStatus: null;
            /** @description Always null. */
            failure: null;
            /** @description Empty. */
            data: Record<string, never>;
        };
        /**
         * @example {
         *       "eligible": true,
         *       "reason": "The payment can be refunded.",
         *       "maxAmount": 10000,
         *       "deadline": "2026-12-19T09:30:00.000Z",
         *       "conditions": [
         *         "Refunds are possible within 30 days of the payment."
         *       ]
         *     }
         */
        PolicyCheck: {
            /** @description Whether the payment, or the requested amount, may be refunded. */
            eligible: boolean;
            /** @description Why, for people. */
            reason: string;
            /** @description The most that can be refunded now, in the smallest unit; 0 when nothing is left, null when no amount can be refunded, for example because the window has closed. */
            maxAmount: number | null;
            /**
             * Format: date-time
             * @description The deadline for requesting a refund; null when there is none.
             */
            deadline: string | null;
            /** @description The conditions that apply to this payment, for people. */
            conditions: string[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description Identifies this request, also in the logs of the service.
         * @example req_01kahw3v6me8fbw6r5k2jdz7qs
         */
        "X-Request-Id": string;
        /**
         * @description `true` when this response repeats that of an earlier request with the same Idempotency-Key.
         * @example true
         */
        "Idempotent-Replayed": string;
        /**
         * @description The preference of the Prefer header that was applied (RFC 7240).
         * @example wait=10
         */
        "Preference-Applied": string;
        /**
         * @description The address of the refund that is on record.
         * @example /v1/refunds/ref_01kahw3v6me8fbw6r5k2jdz7qs
         */
        Location: string;
        /**
         * @description Seconds to wait before the request is repeated.
         * @example 1
         */
        "Retry-After": number;
        /**
         * @description The scheme to authenticate with.
         * @example Bearer
         */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process runs. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refunds are accepted. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "degraded";
                        /** @enum {string} */
                        database: "up" | "down";
                        /** @enum {string} */
                        queue: "up" | "down";
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The database is unavailable, or the process is overloaded. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "unavailable";
                        /** @enum {string} */
                        database: "up" | "down";
                        /** @enum {string} */
                        queue: "up" | "down";
                    } | {
                        /** @enum {string} */
                        status: "overloaded";
                    };
                };
            };
        };
    };
    listRefunds: {
        parameters: {
            query?: {
                /** @description Only refunds with this status. */
                status?: "pending" | "processing" | "completed" | "failed" | "cancelled";
                /**
                 * @description Only refunds at this processor.
                 * @example stripe
                 */
                processor?: string;
                /**
                 * @description Only refunds of this charge or payment.
                 * @example ch_3QfX2eLkdIwHu7ix
                 */
                transactionId?: string;
                /** @description Only refunds for this reason. */
                reason?: "product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other";
                /** @description Only refunds that were requested there. */
                initiatedBy?: "api" | "dashboard" | "mcp";
                /**
                 * @description Only refunds in this currency.
                 * @example usd
                 */
                currency?: string;
                /** @description Only refunds created at this time or later. */
                createdAfter?: string;
                /** @description Only refunds created before this time. */
                createdBefore?: string;
                /** @description Only refunds of at least this amount. */
                amountMin?: number;
                /** @description Only refunds of at most this amount. */
                amountMax?: number;
                /**
                 * @description Only refunds with this value in the first level of their metadata: `metadata[order]=1001`. Compared as text with strings, numbers and booleans.
                 * @example {
                 *       "ticket": "T-1001"
                 *     }
                 */
                metadata?: {
                    [key: string]: string | number | boolean;
                };
                /** @description The maximum number of refunds to return. */
                limit?: number;
                /** @description How many of the newest refunds to skip. */
                offset?: number;
                /**
                 * @description The id of the refund to continue after: the last one of the previous page. Unlike with `offset`, refunds that are created meanwhile neither repeat nor skip others, and every page costs the same.
                 * @example ref_01kahw3v6me8fbw6r5k2jdz7qs
                 */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of refunds. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Refund"][];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createRefund: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 visible ASCII characters. The same key with the same request is carried out once; a repeated creation returns its refund as it is now. */
                "Idempotency-Key"?: string;
                /** @description `wait=N` waits up to N seconds for the outcome, `respond-async` does not wait (RFC 7240). */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "transactionId": "ch_3QfX2eLkdIwHu7ix",
                 *       "amount": 1500,
                 *       "reason": "product_defective",
                 *       "metadata": {
                 *         "ticket": "T-1001"
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description The id of the charge or payment at the processor.
                     * @example ch_3QfX2eLkdIwHu7ix
                     */
                    transactionId: string;
                    /**
                     * @description In the smallest unit of the currency, for example cents.
                     * @example 1500
                     */
                    amount: number;
                    /**
                     * @description Why the payment is refunded.
                     * @enum {string}
                     */
                    reason: "product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other";
                    /**
                     * @description ISO 4217; must be the currency of the payment.
                     * @default usd
                     * @example usd
                     */
                    currency?: string;
                    /**
                     * @description Detected from the payment when omitted.
                     * @example stripe
                     * @enum {string}
                     */
                    processor?: "stripe" | "braintree";
                    /**
                     * @description Stored with the refund: up to 50 keys of 1 to 40 characters, 10 levels deep, 16384 bytes as JSON. Do not include card numbers.
                     * @example {
                     *       "ticket": "T-1001"
                     *     }
                     */
                    metadata?: {
                        [key: string]: unknown;
                    } | null;
                    /** @description True to learn what the creation would come to. Nothing is reserved, sent or stored. */
                    dryRun?: boolean;
                };
            };
        };
        responses: {
            /** @description The refund as created; `externalRefundId` is null until the processor has one. For a dry run, what the creation would come to. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Preference-Applied": components["headers"]["Preference-Applied"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Refund"] | components["schemas"]["RefundDryRun"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /**
             * @description `policy_denied`: A refund policy that the organization enforces, or the limits of an agent key, do not allow this refund.
             *
             *     `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended.
             */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `refund_already_processed`: The payment has already been refunded in full, through this service or directly at the processor. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `idempotency_key_reused`: The `Idempotency-Key` was used before with a different request. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `processor_error`: The payment processor rejected the request or the account's credentials. The message carries the processor's reason. */
            502: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getRefund: {
        parameters: {
            query?: {
                /** @description Fields to add to the refund, separated by commas. */
                include?: ("failure" | "cancellable")[];
            };
            header?: {
                /** @description `wait=N` waits up to N seconds for the outcome, `respond-async` does not wait (RFC 7240). */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The id of the refund, ref_...
                 * @example ref_01kahw3v6me8fbw6r5k2jdz7qs
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The refund. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Preference-Applied": components["headers"]["Preference-Applied"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["DetailedRefund"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    cancelRefund: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 visible ASCII characters. The same key with the same request is carried out once; a repeated creation returns its refund as it is now. */
                "Idempotency-Key"?: string;
                /** @description `wait=N` waits up to N seconds for the outcome, `respond-async` does not wait (RFC 7240). */
                Prefer?: string;
            };
            path: {
                /**
                 * @description The id of the refund, ref_...
                 * @example ref_01kahw3v6me8fbw6r5k2jdz7qs
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The refund is cancelled: the processor confirmed it, or never received the refund. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Preference-Applied": components["headers"]["Preference-Applied"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Refund"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `refund_not_cancellable`: The refund can no longer be cancelled, or the processor has not confirmed the cancellation yet. The message names its status. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `idempotency_key_reused`: The `Idempotency-Key` was used before with a different request. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    approveRefund: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the refund, ref_...
                 * @example ref_01kahw3v6me8fbw6r5k2jdz7qs
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The refund is approved and on its way. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Refund"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /**
             * @description `refund_not_pending`: The refund is not awaiting approval, for example because another decision came first. The message names its status.
             *
             *     `refund_flagged`: The processor has a second refund with the reference of this one, so it cannot be approved: the customer could be paid twice.
             */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rejectRefund: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the refund, ref_...
                 * @example ref_01kahw3v6me8fbw6r5k2jdz7qs
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Up to 500 characters, for the timeline and the audit log. */
                    reason?: string | null;
                } | null;
            };
        };
        responses: {
            /** @description The refund is cancelled. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Refund"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `refund_not_pending`: The refund is not awaiting approval, for example because another decision came first. The message names its status. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listRefundEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the refund, ref_...
                 * @example ref_01kahw3v6me8fbw6r5k2jdz7qs
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events of the refund. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Event"][];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /**
                 * @description The id of the event to continue after: `nextAfter` of the previous page.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                after?: string;
                /** @description The maximum number of events to return. */
                limit?: number;
                /** @description Only events of this type. */
                type?: "refund.created" | "refund.approval_required" | "refund.processing" | "refund.completed" | "refund.failed" | "refund.cancelled";
            };
            header?: {
                /** @description `wait=N` waits up to N seconds for the outcome, `respond-async` does not wait (RFC 7240). */
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of events. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Preference-Applied": components["headers"]["Preference-Applied"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Event"][];
                        /**
                         * @description Pass it as `after` to continue. Null only when there is no event yet.
                         * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                         */
                        nextAfter: string | null;
                        /** @description Whether more events are available now. */
                        hasMore: boolean;
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    checkPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "transactionId": "ch_3QfX2eLkdIwHu7ix",
                 *       "amount": 1500
                 *     }
                 */
                "application/json": {
                    /**
                     * @description The id of the charge or payment at the processor.
                     * @example ch_3QfX2eLkdIwHu7ix
                     */
                    transactionId: string;
                    /**
                     * @description In the smallest unit of the currency, for example cents.
                     * @example 1500
                     */
                    amount?: number;
                };
            };
        };
        responses: {
            /** @description The result, also for an ineligible payment. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["PolicyCheck"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `processor_error`: The payment processor rejected the request or the account's credentials. The message carries the processor's reason. */
            502: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listAgentKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All agent keys. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["AgentKey"][];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createAgentKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Support agent",
                 *       "limits": {
                 *         "currency": "usd",
                 *         "maxPerRefund": 5000,
                 *         "maxPerDay": 50000,
                 *         "reasons": [
                 *           "product_not_received",
                 *           "product_defective"
                 *         ],
                 *         "approvalAbove": 2000
                 *       }
                 *     }
                 */
                "application/json": {
                    /**
                     * @description 1 to 100 printable characters.
                     * @example Support agent
                     */
                    name: string;
                    /**
                     * @description What an agent may refund with a key, in the smallest unit of `currency`, inclusive. What is left out does not limit.
                     * @example {
                     *       "currency": "usd",
                     *       "maxPerRefund": 5000,
                     *       "maxPerDay": 50000,
                     *       "reasons": [
                     *         "product_not_received",
                     *         "product_defective"
                     *       ],
                     *       "approvalAbove": 2000
                     *     }
                     */
                    limits: {
                        /** @description ISO 4217. Refunds in another currency are refused. */
                        currency: string;
                        /** @description The most of one refund. */
                        maxPerRefund?: number;
                        /** @description The most of all refunds of one payment together. */
                        maxPerPayment?: number;
                        /** @description The most that this key may request in 24 hours. */
                        maxPerDay?: number;
                        /** @description The reasons that are allowed; any unless given. */
                        reasons?: ("product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other")[];
                        /** @description A refund awaits approval if all refunds of its payment come to more than this. */
                        approvalAbove?: number;
                    };
                    /** @description What the key may do; all of these by default. */
                    scopes?: ("refunds:read" | "refunds:write" | "policies:read")[];
                    /**
                     * @description When the key stops working; never by default.
                     * @example 2027-01-01T00:00:00.000Z
                     */
                    expiresAt?: string | null;
                };
            };
        };
        responses: {
            /** @description The key. Store `key` now: it is shown only here. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CreatedAgentKey"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    revokeAgentKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the key, key_...
                 * @example key_01kahw5e2pf9c8m0r4t6v8x1zb
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is revoked. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @example {
                         *       "id": "key_01kahw5e2pf9c8m0r4t6v8x1zb",
                         *       "deleted": true
                         *     }
                         */
                        data: {
                            id: string;
                            /** @enum {boolean} */
                            deleted: true;
                        };
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    changeAgentKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the key, key_...
                 * @example key_01kahw5e2pf9c8m0r4t6v8x1zb
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "stopped"
                 *     }
                 */
                "application/json": {
                    /**
                     * @description 1 to 100 printable characters.
                     * @example Support agent
                     */
                    name?: string;
                    /**
                     * @description What an agent may refund with a key, in the smallest unit of `currency`, inclusive. What is left out does not limit.
                     * @example {
                     *       "currency": "usd",
                     *       "maxPerRefund": 5000,
                     *       "maxPerDay": 50000,
                     *       "reasons": [
                     *         "product_not_received",
                     *         "product_defective"
                     *       ],
                     *       "approvalAbove": 2000
                     *     }
                     */
                    limits?: {
                        /** @description ISO 4217. Refunds in another currency are refused. */
                        currency: string;
                        /** @description The most of one refund. */
                        maxPerRefund?: number;
                        /** @description The most of all refunds of one payment together. */
                        maxPerPayment?: number;
                        /** @description The most that this key may request in 24 hours. */
                        maxPerDay?: number;
                        /** @description The reasons that are allowed; any unless given. */
                        reasons?: ("product_not_received" | "product_defective" | "wrong_product" | "duplicate_charge" | "subscription_cancelled" | "other")[];
                        /** @description A refund awaits approval if all refunds of its payment come to more than this. */
                        approvalAbove?: number;
                    };
                    /**
                     * @description `stopped` refuses all requests with the key until it is `active` again.
                     * @enum {string}
                     */
                    status?: "active" | "stopped";
                };
            };
        };
        responses: {
            /** @description The key as it is now. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["AgentKey"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listWebhookEndpoints: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoints. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpoint"][];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://example.com/webhooks/refunds",
                 *       "events": [
                 *         "refund.completed",
                 *         "refund.failed"
                 *       ],
                 *       "description": "Order service"
                 *     }
                 */
                "application/json": {
                    /**
                     * @description At most 2,048 characters, without a user name or password. In production it must be https and not a private address.
                     * @example https://example.com/webhooks/refunds
                     */
                    url: string;
                    /**
                     * @description The types of events to send, or `["*"]` for all.
                     * @default [
                     *       "*"
                     *     ]
                     * @example [
                     *       "refund.completed"
                     *     ]
                     */
                    events?: ("*" | "refund.created" | "refund.approval_required" | "refund.processing" | "refund.completed" | "refund.failed" | "refund.cancelled")[];
                    /**
                     * @description A note for you.
                     * @default null
                     * @example Order service
                     */
                    description?: string | null;
                };
            };
        };
        responses: {
            /** @description The endpoint with its secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpointWithSecret"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpoint"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint is deleted. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["DeletedWebhookEndpoint"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    changeWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "events": [
                 *         "*"
                 *       ],
                 *       "status": "enabled"
                 *     }
                 */
                "application/json": {
                    /**
                     * @description At most 2,048 characters, without a user name or password. In production it must be https and not a private address.
                     * @example https://example.com/webhooks/refunds
                     */
                    url?: string;
                    /**
                     * @description The types of events to send, or `["*"]` for all.
                     * @example [
                     *       "refund.completed"
                     *     ]
                     */
                    events?: ("*" | "refund.created" | "refund.approval_required" | "refund.processing" | "refund.completed" | "refund.failed" | "refund.cancelled")[];
                    /**
                     * @description A note for you.
                     * @example Order service
                     */
                    description?: string | null;
                    /**
                     * @description Disabling ends the pending deliveries.
                     * @enum {string}
                     */
                    status?: "enabled" | "disabled";
                };
            };
        };
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpoint"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description How long the earlier secrets sign as well; 0 ends them at once.
                     * @default 86400
                     */
                    overlapSeconds?: number;
                } | null;
            };
        };
        responses: {
            /** @description The endpoint with its new secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookEndpointWithSecret"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    testWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, before its first attempt. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookDelivery"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Only deliveries with this status. */
                status?: "pending" | "succeeded" | "failed";
                /** @description The maximum number of deliveries to return. */
                limit?: number;
                /** @description The number of deliveries to skip. */
                offset?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of deliveries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookDelivery"][];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    retryWebhookDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
                /**
                 * @description The id of the delivery, del_...
                 * @example del_01kahw4f2vexrvhq3s8m7k1dpb
                 */
                deliveryId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, before the new attempt. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["WebhookDelivery"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    replayWebhookDeliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The id of the endpoint, we_...
                 * @example we_01kahw4c0af8ktq9m1rj6z2e5n
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "2026-11-20T09:30:00.000Z"
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: date-time
                     * @description Deliveries created at this time or later.
                     */
                    since: string;
                    /**
                     * @description Only deliveries with this status.
                     * @default failed
                     * @enum {string}
                     */
                    status?: "pending" | "succeeded" | "failed";
                };
            };
        };
        responses: {
            /** @description The number of deliveries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["ReplayedWebhooks"];
                    };
                };
            };
            /** @description `validation_error`: The body, a query parameter or a header is invalid. This includes an amount above what is left of the payment, a currency that is not the payment's, and text with a NUL character or an unpaired surrogate. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown, revoked or expired. */
            401: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `insufficient_scope`: The API key lacks the required scope or is stopped. A key may not approve a refund that the person it acts for requested, directly or with a key, and an agent key may cancel only refunds that it requested. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, API key, webhook endpoint, delivery, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large`: The body is larger than 64 KiB (256 KiB for processor webhooks). */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type`: The media type or encoding of the body is not supported. */
            415: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second, or too many invalid API keys from one network in a minute. The request was not carried out. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error`: An unexpected error in this service. The change may or may not have been recorded. */
            500: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `service_unavailable`: The service cannot handle the request at the moment: it is overloaded, a dependency is down, or the payment is locked. Nothing was changed. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    onRefundCreated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the event. It is the same each time the event is sent.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in seconds since 1970.
                 * @example 1795167002
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by periods, in base64. While a secret is replaced, all valid secrets sign.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Verify the signature over the bytes as they arrived. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Event"];
            };
        };
        responses: {
            /** @description The endpoint is disabled and gets no further events. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event is delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response, a redirect or none within 15 seconds: the event is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRefundApprovalRequired: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the event. It is the same each time the event is sent.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in seconds since 1970.
                 * @example 1795167002
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by periods, in base64. While a secret is replaced, all valid secrets sign.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Verify the signature over the bytes as they arrived. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Event"];
            };
        };
        responses: {
            /** @description The endpoint is disabled and gets no further events. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event is delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response, a redirect or none within 15 seconds: the event is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRefundProcessing: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the event. It is the same each time the event is sent.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in seconds since 1970.
                 * @example 1795167002
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by periods, in base64. While a secret is replaced, all valid secrets sign.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Verify the signature over the bytes as they arrived. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Event"];
            };
        };
        responses: {
            /** @description The endpoint is disabled and gets no further events. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event is delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response, a redirect or none within 15 seconds: the event is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRefundCompleted: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the event. It is the same each time the event is sent.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in seconds since 1970.
                 * @example 1795167002
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by periods, in base64. While a secret is replaced, all valid secrets sign.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Verify the signature over the bytes as they arrived. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Event"];
            };
        };
        responses: {
            /** @description The endpoint is disabled and gets no further events. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event is delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response, a redirect or none within 15 seconds: the event is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRefundFailed: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the event. It is the same each time the event is sent.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in seconds since 1970.
                 * @example 1795167002
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by periods, in base64. While a secret is replaced, all valid secrets sign.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Verify the signature over the bytes as they arrived. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Event"];
            };
        };
        responses: {
            /** @description The endpoint is disabled and gets no further events. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event is delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response, a redirect or none within 15 seconds: the event is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onRefundCancelled: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the event. It is the same each time the event is sent.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in seconds since 1970.
                 * @example 1795167002
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by periods, in base64. While a secret is replaced, all valid secrets sign.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Verify the signature over the bytes as they arrived. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Event"];
            };
        };
        responses: {
            /** @description The endpoint is disabled and gets no further events. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event is delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response, a redirect or none within 15 seconds: the event is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onWebhookTest: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description The id of the event. It is the same each time the event is sent.
                 * @example evt_01kahw3xs5fv2rj0c8m4t9p6ye
                 */
                "webhook-id": string;
                /**
                 * @description When this attempt was made, in seconds since 1970.
                 * @example 1795167002
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by periods, in base64. While a secret is replaced, all valid secrets sign.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The event. Verify the signature over the bytes as they arrived. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestEvent"];
            };
        };
        responses: {
            /** @description The endpoint is disabled and gets no further events. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event is delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any other response, a redirect or none within 15 seconds: the event is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
