import { mayAct } from '../../../../shared/people/roles.ts';
import type { Context } from '../../access.ts';
import { Empty } from '../../layout/notice.tsx';
import { CopyButton } from '../../layout/values.tsx';

/** Stands in the place of the list while the filter leaves nothing. */
export function NothingFound({ to }: { to: string }) {
  return (
    <Empty title="No refund is like this">
      <p>Ids have to be whole, and of this environment.</p>
      <a class="button" href={to}>
        Clear the filters
      </a>
    </Empty>
  );
}

/** Stands in the place of the list before there is a first refund. */
export function NothingYet({ context, apiUrl }: { context: Context; apiUrl: string }) {
  const command = exampleCommand(context, apiUrl);
  const mayCreate = mayAct(context.role, 'operator');
  return (
    <Empty title={`No ${context.environment} refunds yet`}>
      <p>
        {mayCreate
          ? 'Create the first one here, or have a program of yours ask for it:'
          : 'An operator can create the first one here, or a program of yours ask for it:'}
      </p>
      {mayCreate ? (
        <a class="button" data-kind="primary" href={`${context.base}/refunds/new`}>
          Create a refund
        </a>
      ) : null}
      <div class="example">
        <pre>
          <code>{command}</code>
        </pre>
        <CopyButton text={command} label="the command" />
      </div>
    </Empty>
  );
}

function exampleCommand({ environment }: Context, apiUrl: string): string {
  return [
    `curl ${apiUrl}/v1/refunds \\`,
    `  -H "Authorization: Bearer svc_${environment}_..." \\`,
    '  -H "Idempotency-Key: $(uuidgen)" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"transactionId": "ch_...", "amount": 1500, "currency": "usd", "reason": "other"}'`,
  ].join('\n');
}
