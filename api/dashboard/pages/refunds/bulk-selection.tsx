import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { Link } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { useMember } from '../../http/access.ts';
import { cursorIn, filterIn } from '../../http/filter.ts';
import { entered } from '../../http/forms.ts';
import { withQuery } from '../../http/paths.ts';
import { OneOf, ReasonField } from './decision-dialogs.tsx';
import { filterSchema } from './filter.ts';

/** The id of the form that the boxes of the rows belong to. */
const formId = 'selection';

/** The address of a page of the list, with its filter and position. */
export function pageAddress(query: unknown, to = '/refunds', more: object = {}): string {
  const { entered: filter } = filterIn(filterSchema, query);
  return withQuery(to, { ...filter, cursor: cursorIn(query), ...more });
}

/** True when the page was opened with all of its boxes checked. */
export function areAllSelected(query: unknown): boolean {
  return entered(query, 'select') === 'all';
}

/** The box of a refund that can be decided; nothing for any other. */
export function SelectBox({ refund, isChecked }: { refund: RefundWithWork; isChecked: boolean }) {
  if (refund.status !== 'pending' && refund.work?.flaggedAt == null) return null;
  return (
    <label class="select-box">
      <input
        type="checkbox"
        form={formId}
        name="refund"
        value={refund.id}
        checked={isChecked}
        aria-label={`Select ${refund.id}`}
      />
    </label>
  );
}

/** The bar below the list, which decides about the selected refunds. It is hidden while there is no box. */
export function SelectionBar() {
  const { query } = useMember();
  return (
    <div class="action-bar card row">
      <Link to={pageAddress(query, '/refunds', { select: 'all' })} data-select={formId}>
        Select all on this page
      </Link>
      {/* The number is counted by the style, also without scripts. */}
      <span class="selected-count" />
      <Confirm
        formId={formId}
        id="decide"
        action="Decide"
        title="Decide about the selected refunds"
        kind="primary"
        to={bulkPath(query)}
      >
        <BulkFields />
      </Confirm>
    </div>
  );
}

/** Where the form is posted; the query leads back to the page of the list. */
export function bulkPath(query: unknown): string {
  return pageAddress(query, '/refunds/decisions');
}

const choices = [
  ['approve', 'Approve: review their number, total and largest amount first.'],
  ['reject', 'Reject: each is cancelled and never sent. Its amount becomes refundable again.'],
  ['recheck', 'Recheck: the current status of each is read from its processor.'],
] as const;

/** The decision, and the reason for a rejection. */
export function BulkFields() {
  return (
    <>
      <OneOf legend="Decision" name="decision" choices={choices} />
      <ReasonField name="rejectReason" isOnlyToReject />
    </>
  );
}
