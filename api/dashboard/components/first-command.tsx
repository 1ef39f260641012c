import type { Environment } from '#shared/platform/environment.ts';
import { CopyButton } from './values.tsx';

/** The command that creates a first refund. */
export function FirstCommand({ environment, origin }: { environment: Environment; origin: string }) {
  const command = [
    `curl ${origin}/v1/refunds \\`,
    `  -H "Authorization: Bearer svc_${environment}_..." \\`,
    '  -H "Idempotency-Key: $(uuidgen)" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"transactionId": "ch_...", "amount": 1500, "currency": "usd", "reason": "other"}'`,
  ].join('\n');
  return (
    <div class="example">
      <pre>
        <code>{command}</code>
      </pre>
      <CopyButton text={command} label="the command" />
    </div>
  );
}
