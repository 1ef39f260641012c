import { mayAct } from '#shared/access/roles.ts';
import type { RefundBatch } from '#shared/platform/database.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { ButtonLink, Link } from '../../components/button.tsx';
import { List, Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';

interface BatchesProps {
  batches: readonly RefundBatch[];
  /** The cursors of this page and the next one. */
  cursor: string | null;
  next: string | null;
}

export function BatchesPage({ batches, cursor, next }: BatchesProps) {
  const { environment, role } = useMember();
  return (
    <Frame
      title="Batches"
      section="batches"
      actions={
        mayAct(role, 'operator') && (
          <ButtonLink to="/batches/new" kind="primary">
            Upload CSV file
          </ButtonLink>
        )
      }
    >
      {batches.length === 0 ? (
        <Empty title={`No ${environment} batches`} icon="rows">
          <p>A batch creates up to 10,000 refunds from one CSV file or API request.</p>
        </Empty>
      ) : (
        <List
          caption="Batches, newest first"
          items={batches}
          columns={[
            [
              'Created',
              ({ id, createdAt }) => (
                <Link class="row-link" to={`/batches/${id}`}>
                  <Moment at={createdAt} />
                </Link>
              ),
            ],
            ['Status', (batch) => <BatchBadge batch={batch} />],
            ['Rows', ({ rowCount }) => inWhole(rowCount), 'number'],
            ['Waiting', ({ waitingCount }) => inWhole(waitingCount), 'number'],
            ['Refunds', (batch) => inWhole(createdCountOf(batch)), 'number'],
            ['Rejected', ({ rejectedCount }) => inWhole(rejectedCount), 'number'],
          ]}
        />
      )}
      <Pages to="/batches" cursor={cursor} older={next} />
    </Frame>
  );
}

export function createdCountOf({ rowCount, waitingCount, rejectedCount }: RefundBatch): number {
  return rowCount - waitingCount - rejectedCount;
}

const statuses: Record<string, readonly [Tone, string]> = {
  processing: ['wait', 'In progress'],
  paused: ['warn', 'Paused'],
  completed: ['good', 'Done'],
};

export function BatchBadge({ batch: { status } }: { batch: RefundBatch }) {
  const [tone, words] = statuses[status] ?? ['quiet', status];
  return <Badge tone={tone}>{words}</Badge>;
}
