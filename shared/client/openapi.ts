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
         * @description Newest first. A page with fewer refunds than `limit` is the last one.
         */
        get: operations["listRefunds"];
        put?: never;
        /**
         * Create a refund
         * @description Responds when the processor has accepted or rejected the refund, or after a few seconds, in which case the refund is recorded and processed later. A rejected refund stays on record as failed.
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
         * @description A refund that was not sent to the processor yet is cancelled immediately. Otherwise the processor has to confirm the cancellation; until then the refund stays as it is. A body is ignored.
         */
        post: operations["cancelRefund"];
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
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @example {
         *       "transactionId": "ch_3QfX2eLkdIwHu7ix",
         *       "amount": 1500
         *     }
         */
        CheckPolicy: {
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
        CreateRefund: {
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
             * @description Detected from the transaction when omitted.
             * @example stripe
             */
            processor?: string;
            /**
             * @description Stored with the refund: up to 50 keys of 1 to 40 characters, 10 levels deep, 16384 bytes as JSON. Do not include card numbers.
             * @example {
             *       "ticket": "T-1001"
             *     }
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
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
                code: "validation_error" | "invalid_signature" | "invalid_api_key" | "policy_denied" | "insufficient_scope" | "not_found" | "method_not_allowed" | "refund_already_processed" | "refund_not_cancellable" | "payload_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "rate_limited" | "internal_error" | "processor_error" | "service_unavailable";
            };
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
                code: string;
                message: string;
            } | null;
            /** @description The refund as it was right after the event. */
            data: {
                refund: components["schemas"]["Refund"];
            };
        };
        /**
         * @example {
         *       "eligible": true,
         *       "reason": "The transaction can be refunded.",
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
            /** @description The most that can be refunded now, in the smallest unit; null when the window has closed. */
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
                /** @description The maximum number of refunds to return. */
                limit?: number;
                /** @description How many of the newest refunds to skip. */
                offset?: number;
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
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown or revoked. */
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
            /** @description `insufficient_scope`: The API key lacks a scope or is stopped. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second. The request was not carried out. */
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
                "application/json": components["schemas"]["CreateRefund"];
            };
        };
        responses: {
            /** @description The refund as created; `externalRefundId` is null until the processor has one. */
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
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown or revoked. */
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
             * @description `policy_denied`: A refund policy that the organization enforces does not allow this refund.
             *
             *     `insufficient_scope`: The API key lacks a scope or is stopped. In the dashboard: the member's role does not allow the action, or the session has ended.
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
            /** @description `rate_limited`: Too many requests in one second. The request was not carried out. */
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
            query?: never;
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
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown or revoked. */
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
            /** @description `insufficient_scope`: The API key lacks a scope or is stopped. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second. The request was not carried out. */
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
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown or revoked. */
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
            /** @description `insufficient_scope`: The API key lacks a scope or is stopped. In the dashboard: the member's role does not allow the action, or the session has ended. */
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
            /** @description `not_found`: The refund, processor account or route does not exist, or the key has no access to it. */
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
            /** @description `refund_not_cancellable`: The refund can no longer be cancelled, or the processor has not confirmed. The message names its status. */
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
            /** @description `rate_limited`: Too many requests in one second. The request was not carried out. */
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
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown or revoked. */
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
            /** @description `insufficient_scope`: The API key lacks a scope or is stopped. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found`: The refund, processor account or route does not exist, or the key has no access to it. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second. The request was not carried out. */
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
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown or revoked. */
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
            /** @description `insufficient_scope`: The API key lacks a scope or is stopped. In the dashboard: the member's role does not allow the action, or the session has ended. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `rate_limited`: Too many requests in one second. The request was not carried out. */
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
                "application/json": components["schemas"]["CheckPolicy"];
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
            /** @description `invalid_api_key`: The Authorization header is missing or malformed, or its key is unknown or revoked. */
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
            /** @description `insufficient_scope`: The API key lacks a scope or is stopped. In the dashboard: the member's role does not allow the action, or the session has ended. */
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
            /** @description `rate_limited`: Too many requests in one second. The request was not carried out. */
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
}
