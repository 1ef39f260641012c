/** What the reference begins with; its guides say the rest. */
export const overview = `
Refunds of payments that are held at a payment processor. Money moves at most once per refund, and no refund is lost.

Amounts are whole numbers in the smallest unit of the currency (1050 is 10.50 USD, 1050 JPY is 1050 yen).

## Authentication

Send your API key as a bearer token, from your server only:

\`\`\`sh
curl https://refunds.example.com/v1/refunds -H "Authorization: Bearer svc_test_..."
\`\`\`

\`svc_live_...\` moves money, \`svc_test_...\` never does. Each operation names the scopes that it needs. An unknown, expired or
revoked key gets 401 \`invalid_api_key\`, a key without the scope 403 \`insufficient_scope\`.
`.trim();

/** What precedes the operations in the OpenAPI document. */
export const introduction = `
${overview}

## Idempotency

Send an \`Idempotency-Key\` with every creation, such as the ID of the return in your system. If you received no answer, send the same
request with the same key again: it returns the same refund in its current state, with \`Idempotent-Replayed: true\`. The same key with
another body gets 422 \`idempotency_key_reused\`.

## Errors

Errors have one shape, \`{"error": {"message", "code"}}\`. Decide by \`code\`; the message says what to do. The schema \`Error\` lists all
codes; each operation lists its own. After 429, 5xx or no answer, repeat the request after \`Retry-After\` seconds. Every response carries
an \`x-request-id\`; quote it in support requests.

## Webhooks

Create a webhook endpoint to have events sent to your server. Verify the signature with any library for
[Standard Webhooks](https://www.standardwebhooks.com), over the bytes as they arrived:

\`\`\`ts
import { verifyWebhook } from 'refund-service-client';

const event = verifyWebhook(body, request.headers, process.env.WEBHOOK_SECRET);
\`\`\`

Answer with any 2xx status within 15 seconds. An event may arrive more than once; its \`webhook-id\` stays the same.
`.trim();
