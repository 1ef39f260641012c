import { mayAct } from '#shared/access/roles.ts';
import type { RowResult } from '#shared/batches/batch.ts';
import type { RefundBatch } from '#shared/platform/database.ts';
import { askForException } from '#shared/policies/explain.ts';
import type { RefundStatus } from '#shared/refunds/model/states.ts';
import { statusWords } from '../../components/badge.tsx';
import { ButtonLink, Link } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Post } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Live } from '../../components/live.tsx';
import { Notice } from '../../components/notice.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import { capitalized } from '../../words/words.ts';
import { BatchBadge, createdCountOf } from './batches-page.tsx';

interface BatchProps {
  batch: RefundBatch;
  refunds: Record<RefundStatus, number>;
  /** The first rejected rows. */
  rejected: readonly RowResult[];
  requestedBy: string;
}

const refreshSeconds = 2;

export function BatchPage(props: BatchProps) {
  const { batch } = props;
  return (
    <Frame
      title="Batch"
      section="batches"
      actions={<ButtonLink to={`/batches/${batch.id}/results`}>Download results</ButtonLink>}
    >
      <BatchState {...props} />
    </Frame>
  );
}

/** The part of the page that updates itself. */
function BatchState(props: BatchProps) {
  const { batch, refunds } = props;
  const isUnderWay = batch.status === 'processing' || refunds.processing > 0;
  return (
    <Live id="batch" from={`/batches/${batch.id}`} everySeconds={isUnderWay ? refreshSeconds : null}>
      <div class="stack">
        <Progress {...props} />
        <Rejected {...props} />
      </div>
    </Live>
  );
}

function Progress({ batch, refunds, requestedBy }: BatchProps) {
  const { role } = useMember();
  const { id, status, pauseReason, rowCount, waitingCount, rejectedCount, createdAt, completedAt, seenAt } =
    batch;
  const canBeDismissed = completedAt !== null && rejectedCount + refunds.failed > 0;
  const byStatus = Object.entries(refunds).filter(([, count]) => count > 0) as [RefundStatus, number][];
  const list = `/refunds?q=${id}`;
  const verb = pauseReason === null ? { processing: 'pause' }[status] : 'resume';
  return (
    <Card
      id="progress"
      title={
        <span class="row">
          Progress <BatchBadge batch={batch} />
        </span>
      }
    >
      {pauseReason === null ? null : (
        <Notice tone="warn">No further refund is created until someone resumes the batch.</Notice>
      )}
      <progress max={rowCount} value={rowCount - waitingCount} aria-labelledby="progress" />
      <Facts
        facts={[
          ['Rows', inWhole(rowCount)],
          ['Waiting', inWhole(waitingCount)],
          ['Refunds', <Link to={list}>{inWhole(createdCountOf(batch))}</Link>],
          ...byStatus.map(
            ([each, count]) =>
              [statusWords[each], <Link to={`${list}&status=${each}`}>{inWhole(count)}</Link>] as const,
          ),
          ['Rejected', inWhole(rejectedCount)],
          ['Requested by', requestedBy],
          ['Created', <Moment at={createdAt} />],
          ['Done', completedAt === null ? null : <Moment at={completedAt} />],
          ['Dismissed', seenAt === null ? null : <Moment at={seenAt} />],
          ['Batch ID', <Copyable text={id} label="batch ID" />],
        ]}
      />
      {verb && mayAct(role, 'operator') && <Post to={`/batches/${id}/${verb}`}>{capitalized(verb)}</Post>}
      {canBeDismissed && mayAct(role, 'operator') && <Post to={`/batches/${id}/dismiss`}>Dismiss</Post>}
    </Card>
  );
}

function Rejected({ batch, rejected }: BatchProps) {
  if (rejected.length === 0) return null;
  return (
    <Card id="rejected" title="Rejected rows">
      {batch.rejectedCount > rejected.length ? (
        <p class="small muted">
          The first {rejected.length}. The results have more; of invalid rows, the first 20 are kept.
        </p>
      ) : null}
      {rejected.some(({ errorMessage }) => errorMessage?.includes(askForException)) ? (
        <p class="small muted">{askForException}</p>
      ) : null}
      <List
        caption="Rejected rows"
        isInCard
        items={rejected}
        columns={[
          ['Row', ({ row }) => inWhole(row)],
          ['Payment', ({ transactionId }) => transactionId],
          ['Reason', ({ errorMessage }) => errorMessage?.replace(askForException, '')],
        ]}
      />
    </Card>
  );
}
