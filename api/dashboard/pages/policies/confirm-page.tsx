import type { Policy } from '../../../../shared/policies/policy.ts';
import type { Preview } from '../../../../shared/policies/preview.ts';
import type { Context } from '../../http/access.ts';
import { Confirm } from '../../layout/dialog.tsx';
import { CsrfField } from '../../layout/form.tsx';
import { Frame } from '../../layout/frame.tsx';
import { changesBetween, type PolicyChanges } from './changes.ts';
import { ChangesCard } from './changes-card.tsx';
import { type Draft, draftFields } from './draft.ts';
import { PreviewCard } from './preview-card.tsx';

export interface ConfirmPageProps {
  context: Context;
  current: readonly Policy[];
  tried: readonly Policy[];
  preview: Preview;
  draft: Draft;
  /** The digest of the policies that the draft was made from. */
  madeFrom: string;
}

/** The second step: what becomes of the policies and what they would have said, before they hold. */
export function ConfirmPage({ context, current, tried, preview, draft, madeFrom }: ConfirmPageProps) {
  const changes = changesBetween(current, tried);
  const hidden = <DraftFields draft={draft} madeFrom={madeFrom} />;
  return (
    <Frame
      context={context}
      title={changes.isNothing ? 'Nothing to confirm' : 'Confirm the policies'}
      room="policies"
    >
      <div class="stack">
        <ChangesCard changes={changes} />
        <PreviewCard context={context} preview={preview} />
        <div class="row">
          {changes.isNothing ? null : (
            <Confirm
              id="hold"
              action="Save the policies"
              title="Save these policies?"
              kind={changes.removed.length > 0 ? 'danger' : 'primary'}
              to={`${context.base}/policies`}
              csrfToken={context.csrfToken}
            >
              <Consequences context={context} changes={changes} />
              {hidden}
            </Confirm>
          )}
          <form method="post" action={`${context.base}/policies/edit`}>
            <CsrfField token={context.csrfToken} />
            {hidden}
            <button type="submit" class="button">
              Go on editing
            </button>
          </form>
          <a class="button" href={`${context.base}/policies`}>
            Discard
          </a>
        </div>
      </div>
    </Frame>
  );
}

function Consequences({ context, changes }: { context: Context; changes: PolicyChanges }) {
  return (
    <>
      {changes.removed.length === 0 ? null : (
        <p>
          <strong>Removed: {changes.removed.map(({ name }) => name).join(', ')}.</strong>
        </p>
      )}
      <p>
        They take the place of all policies of {context.organization.name}, for test and live alike, from the
        next refund on. Refunds that are under way or wait for approval stay as they are.
      </p>
    </>
  );
}

function DraftFields({ draft, madeFrom }: Pick<ConfirmPageProps, 'draft' | 'madeFrom'>) {
  return (
    <>
      <input type="hidden" name="madeFrom" value={madeFrom} />
      {draftFields(draft).map(([name, value]) => (
        <input key={`${name} ${value}`} type="hidden" name={name} value={value} />
      ))}
    </>
  );
}
