import type { PolicyVerdict } from '../../../../shared/policies/policy.ts';
import type { Preview, PreviewedRefund } from '../../../../shared/policies/preview.ts';
import type { Context } from '../../http/access.ts';
import { Badge, type Tone } from '../../layout/badge.tsx';
import { Empty } from '../../layout/notice.tsx';
import { Table, type TableRow } from '../../layout/table.tsx';
import { Amount, Moment, Sentence } from '../../layout/values.tsx';

interface PreviewCardProps {
  context: Context;
  preview: Preview;
}

/** What the tried policies would have said of the latest refunds. */
export function PreviewCard({ context, preview }: PreviewCardProps) {
  return (
    <section class="card stack" aria-labelledby="preview-title">
      <h2 id="preview-title">Preview</h2>
      {preview.refunds.length === 0 ? (
        <Empty title="Nothing to try them on">
          <p>There is no {context.environment} refund yet whose payment is known.</p>
        </Empty>
      ) : (
        <Verdicts context={context} preview={preview} />
      )}
    </section>
  );
}

/** Those first where the tried policies differ from what holds. */
function Verdicts({ context, preview }: PreviewCardProps) {
  const { refunds, leftOut } = preview;
  const changed = refunds.filter(isChanged);
  const rest = refunds.filter((each) => !isChanged(each));
  return (
    <>
      <p>
        Of the latest {refunds.length} refunds, {changed.length} would be decided differently. Limits per day
        are left out{leftOutWords(leftOut)}.
      </p>
      <div class="table-scroll">
        <Table
          caption="The latest refunds, by the policies that hold and by those that are tried"
          columns={[{ title: 'Refund' }, { title: 'When' }, { title: 'Now' }, { title: 'Then' }]}
          rows={[...changed, ...rest].map((each) => rowOf(context, each))}
        />
      </div>
    </>
  );
}

function leftOutWords(count: number): string {
  if (count === 0) return '';
  return `, and so ${count === 1 ? 'is 1 refund' : `are ${count} refunds`} of payments that are not known yet or had more than a hundred refunds`;
}

function rowOf(context: Context, previewed: PreviewedRefund): TableRow {
  const { refund, current, tried } = previewed;
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
      <Verdict verdict={current} />,
      <>
        <Verdict verdict={tried} />
        {isChanged(previewed) ? (
          <p class="small">
            <Sentence text={tried.reason} />
          </p>
        ) : null}
      </>,
    ],
  };
}

/** What comes of a verdict. Whether a denial binds does not matter without one, nor a person's approval of what is stopped. */
type Outcome = 'allowed' | 'asks' | 'advisedAgainst' | 'advisedAgainstAndAsks' | 'stopped';

const outcomeBadges: Record<Outcome, { tone: Tone; words: string }> = {
  allowed: { tone: 'good', words: 'Allowed' },
  asks: { tone: 'wait', words: 'Asks a person' },
  advisedAgainst: { tone: 'warn', words: 'Advised against' },
  advisedAgainstAndAsks: { tone: 'warn', words: 'Advised against, asks a person' },
  stopped: { tone: 'bad', words: 'Stopped' },
};

function outcomeOf({ eligible, enforced, approvalRequired }: PolicyVerdict): Outcome {
  if (eligible) return approvalRequired ? 'asks' : 'allowed';
  if (enforced) return 'stopped';
  return approvalRequired ? 'advisedAgainstAndAsks' : 'advisedAgainst';
}

function Verdict({ verdict }: { verdict: PolicyVerdict }) {
  const { tone, words } = outcomeBadges[outcomeOf(verdict)];
  return <Badge tone={tone}>{words}</Badge>;
}

/** Counted is what the table shows as different. */
function isChanged({ current, tried }: PreviewedRefund): boolean {
  return outcomeOf(current) !== outcomeOf(tried);
}
