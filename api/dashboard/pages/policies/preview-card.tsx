import type { PolicyVerdict } from '#shared/policies/policy.ts';
import type { Preview, PreviewedRefund } from '#shared/policies/preview.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { Amount, Moment, Sentence } from '../../components/values.tsx';
import type { Context } from '../../http/access.ts';

interface PreviewCardProps {
  context: Context;
  preview: Preview;
}

/** The decisions of the stored and the edited policies on the latest refunds; those that differ come first. */
export function PreviewCard({ context, preview: { refunds, skipped } }: PreviewCardProps) {
  const different = refunds.filter(isDifferent);
  const rows = [...different, ...refunds.filter((each) => !isDifferent(each))];
  return (
    <Card id="preview" title="Preview">
      {refunds.length === 0 ? (
        <Empty title="No refunds to preview">
          <p>There is no {context.environment} refund with a known payment yet.</p>
        </Empty>
      ) : (
        <>
          <p>
            {different.length} of the latest {refunds.length} refunds would get a different decision. 24-hour
            limits of the organization are not included.
          </p>
          <List
            caption="Decisions on the latest refunds with the saved and the edited policies"
            isInCard
            items={rows}
            columns={columnsOf(context)}
          />
        </>
      )}
      {skipped === 0 ? null : (
        <p class="small muted">
          Skipped: {skipped} of the latest refunds, because the payment is unknown or has more than 100
          refunds.
        </p>
      )}
    </Card>
  );
}

function columnsOf({ base }: Context): readonly Column<PreviewedRefund>[] {
  return [
    [
      'Refund',
      ({ refund }) => (
        <>
          <a class="row-link" href={`${base}/refunds/${refund.id}`}>
            <Amount amount={refund.amount} currency={refund.currency} />
          </a>
          <code class="detail small">{refund.transactionId}</code>
        </>
      ),
    ],
    ['Created', ({ refund }) => <Moment at={refund.createdAt} />],
    ['Saved policies', ({ current }) => <Outcome verdict={current} />],
    [
      'Edited policies',
      (previewed) => (
        <>
          <Outcome verdict={previewed.edited} />
          {isDifferent(previewed) ? (
            <p class="small">
              <Sentence text={previewed.edited.reason} />
            </p>
          ) : null}
        </>
      ),
    ],
  ];
}

const tones = {
  Allowed: 'good',
  'Requires approval': 'wait',
  'Advised against': 'warn',
  'Advised against, requires approval': 'warn',
  Blocked: 'bad',
} as const satisfies Record<string, Tone>;

/** Enforcement matters only for a denial, and approval only for a refund that is not blocked. */
function outcomeOf({ eligible, enforced, approvalRequired }: PolicyVerdict): keyof typeof tones {
  if (eligible) return approvalRequired ? 'Requires approval' : 'Allowed';
  if (enforced) return 'Blocked';
  return approvalRequired ? 'Advised against, requires approval' : 'Advised against';
}

function Outcome({ verdict }: { verdict: PolicyVerdict }) {
  const outcome = outcomeOf(verdict);
  return <Badge tone={tones[outcome]}>{outcome}</Badge>;
}

function isDifferent({ current, edited }: PreviewedRefund): boolean {
  return outcomeOf(current) !== outcomeOf(edited);
}
