import { maxRows, type RowContent } from '#shared/batches/batch.ts';
import type { RequestedRow } from '#shared/batches/create-batch.ts';
import type { Review } from '#shared/batches/review-rows.ts';
import { refundReasons } from '#shared/refund-request/reasons.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CsrfField, Form, FormNotice, HiddenFields, postedTo, useSubmitted } from '../../components/form.tsx';
import { inputProps } from '../../components/inputs.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Notice } from '../../components/notice.tsx';
import { Amount } from '../../components/values.tsx';
import { useAddress, useMember } from '../../http/access.ts';
import { Frame } from '../../layout/frame.tsx';
import { countOf, inMoney, inWhole } from '../../words/numbers.ts';
import { reasonWords } from '../../words/words.ts';
import { metadataFacts } from '../refunds/facts.tsx';
import type { Question } from './uploaded-rows.ts';

const path = '/batches/new';
/** The first step: the file. */
export function UploadForm() {
  const { form, file } = useSubmitted(path)?.problems ?? {};
  return (
    <Frame section="batches" title="Upload CSV file">
      <form method="post" action={useAddress(path)} encType="multipart/form-data" class="card stack narrow">
        <CsrfField />
        <FormNotice problem={form} />
        <div class="field">
          <label for="file">File</label>
          <input {...inputProps('file', file)} type="file" accept=".csv,.tsv,.txt,text/csv" required />
          <p class="hint" id="file-hint">
            Up to {inWhole(maxRows)} rows. You can review the refunds before they are created.
          </p>
          {file === undefined ? null : (
            <p class="problem" id="file-problem">
              {file}
            </p>
          )}
        </div>
        <div class="row">
          <Submit kind="primary">Review</Submit>
          <ButtonLink to={`${path}/template`}>Download template</ButtonLink>
        </div>
      </form>
      <Columns />
    </Frame>
  );
}

function Columns() {
  return (
    <Card id="columns" title="Columns">
      <dl class="facts">
        <dt>transactionId</dt>
        <dd>The payment ID.</dd>
        <dt>amount</dt>
        <dd>
          With decimals, such as 10.50. Leave it empty to refund all that is left. For the smallest unit (1050
          is 10.50 USD), name the column amountMinor instead.
        </dd>
        <dt>reason</dt>
        <dd>{refundReasons.join(', ')}</dd>
        <dt>currency</dt>
        <dd>The payment's currency. USD without it.</dd>
        <dt>Optional</dt>
        <dd>processor, account, connectedAccount, idempotencyKey, and metadata.order_id or any other key.</dd>
      </dl>
    </Card>
  );
}

/** Asks what amounts without decimals are in. */
export function UnitQuestion({ question, upload }: { question: Question; upload: string }) {
  const { written, meanings } = question;
  return (
    <Frame section="batches" title="Amounts without decimals">
      <form {...postedTo(useAddress(path))} class="card stack narrow">
        <CsrfField />
        <HiddenFields values={{ upload }} />
        <p>
          No amount in this file has decimals. What does <strong>{written}</strong> mean?
        </p>
        <div class="row">
          <Submit name="unit" value="major">
            {meanings.major}
          </Submit>
          <Submit name="unit" value="minor">
            {meanings.minor}
          </Submit>
          <ButtonLink to={path}>Cancel</ButtonLink>
        </div>
      </form>
    </Frame>
  );
}

/** A row that is refunded. */
interface SentRow {
  row: number;
  content: RowContent;
  /** In minor units; null for all that is left of a payment that was not read. */
  amount: bigint | null;
}

interface LeftOutRow {
  row: number;
  transactionId: string | null;
  problem: string;
}

/** What an upload comes to. */
interface Summary {
  sent: readonly SentRow[];
  leftOut: readonly LeftOutRow[];
  /** The sum of the known amounts by currency, in minor units. */
  totals: ReadonlyMap<string, bigint>;
  /** How many of `sent` have a payment that was not read. */
  unreadCount: number;
}

export function summaryOf(rows: readonly RequestedRow[], { reviews, unread }: Review): Summary {
  const sent: SentRow[] = [];
  const leftOut: LeftOutRow[] = [];
  const totals = new Map<string, bigint>();
  for (const [index, each] of rows.entries()) {
    const row = index + 1;
    if ('problem' in each) {
      leftOut.push({ row, transactionId: null, problem: each.problem });
      continue;
    }
    const { content } = each;
    const review = reviews.get(index);
    if (review !== undefined && 'refusal' in review) {
      leftOut.push({ row, transactionId: content.transactionId, problem: review.refusal });
      continue;
    }
    const known = content.amount ?? review?.amount;
    const amount = known === undefined ? null : BigInt(known);
    const currency = content.currency.toLowerCase();
    if (amount !== null) totals.set(currency, (totals.get(currency) ?? 0n) + amount);
    sent.push({ row, content, amount });
  }
  return { sent, leftOut, totals, unreadCount: unread.size };
}

/** The second step: what the file comes to, before anything is created. */
export function UploadReview({ summary, upload }: { summary: Summary; upload: string }) {
  const { environment } = useMember();
  const { sent, leftOut } = summary;
  const remaining = sent.filter(({ content }) => content.remaining);
  const others = sent.filter(({ content }) => !content.remaining);
  return (
    <Frame section="batches" title="Review batch">
      <Totals summary={summary} />
      {sent.length === 0 ? null : (
        <Form
          to={`${path}/create`}
          submit={`Create ${countOf(sent.length, `${environment} refund`)}`}
          cancel={path}
        >
          <HiddenFields values={{ upload }} />
          <p>Exactly these rows are sent, with the amounts shown here.</p>
        </Form>
      )}
      <Rows id="left-out" title="Left out" rows={leftOut} columns={leftOutColumns} />
      <Rows id="remaining" title="All that is left" rows={remaining} columns={columnsOf(remaining)} />
      <Rows id="refunds" title="Refunds" rows={others} columns={columnsOf(others)} />
    </Frame>
  );
}

function Totals({ summary: { sent, leftOut, totals, unreadCount } }: { summary: Summary }) {
  const sums = [...totals].map(([currency, amount]) => inMoney(amount, currency));
  const remaining = sent.filter(({ content }) => content.remaining);
  const unknown = remaining.filter(({ amount }) => amount === null).length;
  return (
    <Notice tone={leftOut.length + unreadCount > 0 ? 'warn' : 'good'}>
      <strong>
        {countOf(sent.length, 'refund')}
        {sums.length === 0 ? null : `, ${new Intl.ListFormat('en').format(sums)}`}
      </strong>
      {remaining.length === 0 ? null : (
        <p>
          {countOf(remaining.length, 'row')} {remaining.length === 1 ? 'refunds' : 'refund'} everything that
          is left.
          {unknown === 0 ? null : ` The amount of ${inWhole(unknown)} is not known and not in the total.`}
        </p>
      )}
      {unreadCount === 0 ? null : (
        <p>
          The payments of {countOf(unreadCount, 'row')} were not read. Each is checked before its refund is
          created.
        </p>
      )}
      {leftOut.length === 0 ? null : (
        <p>
          {countOf(leftOut.length, 'row')} cannot be refunded. Once this batch is created, upload the
          corrected rows alone.
        </p>
      )}
    </Notice>
  );
}

/** The rows that a list of a review shows. */
const mostRows = 100;

interface RowsProps<Row> {
  id: string;
  title: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
}

function Rows<Row>({ id, title, rows, columns }: RowsProps<Row>) {
  if (rows.length === 0) return null;
  return (
    <Card id={id} title={`${title} (${inWhole(rows.length)})`}>
      <p class="small muted">
        {rows.length > mostRows ? `The first ${mostRows}. ` : null}Rows are counted without the header.
      </p>
      <List caption={title} isInCard items={rows.slice(0, mostRows)} columns={columns} />
    </Card>
  );
}

const leftOutColumns: readonly Column<LeftOutRow>[] = [
  ['Row', ({ row }) => inWhole(row)],
  ['Payment', ({ transactionId }) => transactionId],
  ['Problem', ({ problem }) => problem],
];

/** With the metadata, if any row has some. */
function columnsOf(rows: readonly SentRow[]): readonly Column<SentRow>[] {
  const hasMetadata = rows.some(({ content }) => content.metadata != null);
  return hasMetadata ? [...sentColumns, metadataColumn] : sentColumns;
}

const sentColumns: readonly Column<SentRow>[] = [
  ['Row', ({ row }) => inWhole(row)],
  ['Payment', ({ content }) => content.transactionId],
  [
    'Amount',
    ({ amount, content: { currency } }) =>
      amount === null ? 'Not known' : <Amount amount={amount} currency={currency.toLowerCase()} />,
    'number',
  ],
  ['Reason', ({ content: { reason } }) => reasonWords[reason]],
];

const metadataColumn: Column<SentRow> = [
  'Metadata',
  ({ content: { metadata } }) =>
    metadataFacts(metadata).map(([key, value]) => (
      <span key={key} class="detail small">
        {key}: {value}
      </span>
    )),
];
