import { mayAct } from '#shared/access/roles.ts';
import type { RefundBatch } from '#shared/platform/database.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Link, Submit } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CsrfField, FormNotice, Post, useSubmitted } from '../../components/form.tsx';
import { EntriesProvider, inputProps, SelectField } from '../../components/inputs.tsx';
import { List, Pages } from '../../components/list.tsx';
import { Empty } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';
import { useAddress, useMember } from '../../http/access.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';

interface BatchesProps {
  batches: readonly RefundBatch[];
  /** The cursors of this page and the next one. */
  cursor: string | null;
  next: string | null;
  /** Whether the user has confirmed the session lately. */
  isConfirmed: boolean;
}

export function BatchesPage({ batches, cursor, next, isConfirmed }: BatchesProps) {
  const { environment, role } = useMember();
  return (
    <Frame title="Batches" section="batches">
      {mayAct(role, 'operator') && (isConfirmed ? <Upload /> : <Confirmation />)}
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

function Confirmation() {
  return (
    <Card id="upload" title="Upload a CSV file">
      <p>Confirm your identity first.</p>
      <div class="row">
        <Post to="/batches/confirm" kind="primary">
          Confirm
        </Post>
      </div>
    </Card>
  );
}

function Upload() {
  const { environment } = useMember();
  const entries = useSubmitted('/batches') ?? { body: {}, problems: {} };
  return (
    <Card id="upload" title="Upload a CSV file">
      <form method="post" action={useAddress('/batches')} encType="multipart/form-data" class="stack">
        <CsrfField />
        <FormNotice problem={entries.problems.form} />
        <div class="fields">
          <div class="field">
            <label for="file">File</label>
            <input {...inputProps('file')} type="file" accept=".csv,text/csv" required />
            <p class="hint" id="file-hint">
              Columns: transactionId, amount, reason; optional: currency, processor, idempotencyKey,
              metadata.order_id. Amounts are in the smallest unit (1050 is 10.50 USD); leave one empty to
              refund the rest.
            </p>
          </div>
          <EntriesProvider value={entries}>
            <SelectField
              name="mode"
              label="Invalid rows"
              choices={[
                ['strict', 'Reject the whole file'],
                ['partial', 'Skip them and create the others'],
              ]}
            />
          </EntriesProvider>
        </div>
        <div class="row">
          <Submit kind="primary">Create {environment} refunds</Submit>
        </div>
      </form>
    </Card>
  );
}
