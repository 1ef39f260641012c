import type { PolicyVerdict } from '#shared/policies/policy.ts';
import type { Preview, PreviewedRefund } from '#shared/policies/preview.ts';
import type { Context } from '../../http/access.ts';
import { Badge, type Tone } from '../../layout/badge.tsx';
import { Card } from '../../layout/card.tsx';
import { Empty } from '../../layout/notice.tsx';
import { Table, type TableRow } from '../../layout/table.tsx';
import { Amount, Moment, Sentence } from '../../layout/values.tsx';

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
          <div class="table-scroll">
            <Table
              caption="Decisions on the latest refunds with the saved and the edited policies"
              columns={[
                { title: 'Refund' },
                { title: 'Created' },
                { title: 'Saved policies' },
                { title: 'Edited policies' },
              ]}
              rows={rows.map((each) => rowOf(context, each))}
            />
          </div>
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

function rowOf(context: Context, previewed: PreviewedRefund): TableRow {
  const { refund, current, edited } = previewed;
  return {
    key: refund.id,
    cells: [
      <>
        <a class="row-link" href={`${context.base}/refunds/${refund.id}`}>
          <Amount amount={refund.amount} currency={refund.currency} />
        </a>
        <br />
        <code class="small">{refund.transactionId}</code>
      </>,
      <Moment at={refund.createdAt} />,
      <Outcome verdict={current} />,
      <>
        <Outcome verdict={edited} />
        {isDifferent(previewed) ? (
          <p class="small">
            <Sentence text={edited.reason} />
          </p>
        ) : null}
      </>,
    ],
  };
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
