import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { Confirm } from '../../components/dialog.tsx';
import type { FormState } from '../../components/form.tsx';
import { useMember } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { OneOf, ReasonField } from './decision-dialogs.tsx';
import { enteredFilter, filterQuery } from './filter.ts';

/** The id of the form that the boxes of the rows belong to. */
const formId = 'selection';

/** The query of a page of the list, with its position and whether all of it is selected. */
export function pageQuery(query: unknown, { select = false } = {}): string {
  const cursor = entered(query, 'cursor');
  return filterQuery(enteredFilter(query), {
    ...(cursor === '' ? {} : { cursor }),
    ...(select ? { select: 'all' } : {}),
  });
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
  const { base, query } = useMember();
  return (
    <div class="action-bar card row">
      <a href={`${base}/refunds${pageQuery(query, { select: true })}`} data-select={formId}>
        Select all on this page
      </a>
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
        <BulkFields form={undefined} />
      </Confirm>
    </div>
  );
}

/** Where the form is posted; the query leads back to the page of the list. */
export function bulkPath(query: unknown): string {
  return `/refunds/decisions${pageQuery(query)}`;
}

const choices = [
  ['approve', "Approve: each is sent to its processor, after any hold of its policy. This can't be undone."],
  ['reject', 'Reject: each is cancelled and never sent. Its amount becomes refundable again.'],
  ['recheck', 'Recheck: the current status of each is read from its processor.'],
] as const;

/** The decision, and the reason for a rejection. */
export function BulkFields({ form }: { form: FormState | undefined }) {
  return (
    <>
      <OneOf legend="Decision" name="decision" choices={choices} form={form} />
      <ReasonField name="rejectReason" form={form} isOnlyToReject />
    </>
  );
}
