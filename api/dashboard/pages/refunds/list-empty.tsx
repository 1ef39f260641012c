import { mayAct } from '../../../../shared/people/roles.ts';
import type { Context } from '../../http/access.ts';
import { FirstCommand } from '../../layout/first-command.tsx';
import { Empty } from '../../layout/notice.tsx';

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
export function NothingYet({ context, origin }: { context: Context; origin: string }) {
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
      <FirstCommand environment={context.environment} origin={origin} />
    </Empty>
  );
}
