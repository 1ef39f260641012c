import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { checkGivenReason } from '#shared/refunds/decisions/approve.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { loadRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { Badge } from '../../components/badge.tsx';
import { ButtonLink, Link } from '../../components/button.tsx';
import { Facts } from '../../components/card.tsx';
import { Form, FormNotice, HiddenFields, useSubmitted } from '../../components/form.tsx';
import { List } from '../../components/list.tsx';
import { Empty, Notice } from '../../components/notice.tsx';
import { Amount } from '../../components/values.tsx';
import { confirmed, confirmMember, contextOf, refreshCounts, useMember } from '../../http/access.ts';
import { enteredList } from '../../http/forms.ts';
import { formPage } from '../../http/page.ts';
import { Frame } from '../../layout/frame.tsx';
import { countOf, inMoney } from '../../words/numbers.ts';
import { reasonWords } from '../../words/words.ts';
import { BulkFields, bulkPath, pageAddress } from './bulk-selection.tsx';
import { decide } from './decisions.ts';
import { metadataColumns } from './metadata-columns.tsx';

/** No page of the list is longer. */
const maxRefunds = 50;

const formSchema = z
  .object({
    refund: z.preprocess(
      (ids) => [...new Set([ids ?? []].flat())],
      z
        .array(z.string().max(100))
        .min(1, 'Select at least one refund.')
        .max(maxRefunds, `Select at most ${maxRefunds} refunds.`),
    ),
    decision: z.enum(['approve', 'reject', 'recheck'], 'Choose one.'),
    /** Whether the user has reviewed what is approved. */
    reviewed: z.literal('yes').optional(),
    rejectReason: z.string().default(''),
  })
  .superRefine(({ decision, rejectReason }, { addIssue }) => {
    const problem = decision === 'reject' ? checkGivenReason(rejectReason) : null;
    if (problem !== null) {
      addIssue({ code: 'custom', path: ['rejectReason'], message: problem });
    }
  });

/** `POST /refunds/decisions`: one decision about each of several refunds, by the rules of a single one. Approvals are reviewed first. */
export function bulkDecisionRoute(scope: Api, deps: ApiDependencies): void {
  formPage(scope, '/refunds/decisions', confirmed('operator'), formSchema, {
    run: async (request, entries) => {
      const { refund: ids, decision, reviewed } = entries;
      if (decision === 'approve' && reviewed === undefined)
        return <ApprovalReview refunds={await findWaiting(deps, request, ids)} selected={ids.length} />;
      const results = await decideAll(deps, request, entries);
      await refreshCounts(deps, request);
      return <Results {...results} />;
    },
    again: () => <Unfinished />,
  });
}

/** The selected refunds that await approval, the largest of each currency first. */
async function findWaiting({ db }: ApiDependencies, request: FastifyRequest, ids: readonly string[]) {
  const { owner } = contextOf(request);
  const found = await loadRefunds(
    db,
    ids.map((id) => ({ id })),
  );
  return found
    .filter(
      ({ organizationId, environment }) =>
        organizationId === owner.organizationId && environment === owner.environment,
    )
    .filter(({ status }) => status === 'pending')
    .toSorted(
      (one, other) => one.currency.localeCompare(other.currency) || Number(other.amount - one.amount),
    );
}

async function decideAll(
  deps: ApiDependencies,
  request: FastifyRequest,
  { refund: ids, decision }: z.output<typeof formSchema>,
): Promise<ResultsProps> {
  const { body } = request;
  const { owner, actor } = contextOf(request);
  const results: Decided[] = [];
  // One after another: each is a transaction of its own, and one that is refused stops no other.
  for (const id of ids) {
    let refund: RefundWithWork | null = null;
    try {
      // Many may take long, and the user may have lost the role meanwhile.
      await confirmMember(deps, request);
      refund = await findOwnRefund(deps.db, owner, id);
      const result = await decide(deps, decision, { refund, actor, body });
      results.push({ id, refund, refusal: refusalOf(result) });
    } catch (error) {
      if (!(error instanceof ServiceError))
        request.log.error({ err: error, refundId: id }, 'decision failed');
      results.push({ id, refund, refusal: error instanceof ServiceError ? error.message : unexpected });
    }
  }
  return { decision, results };
}

const unexpected = 'Something went wrong. Open the refund to see its state before you try again.';

interface Decided {
  id: string;
  /** Null when it was not found. */
  refund: RefundWithWork | null;
  /** Why it was not decided; null when it was. */
  refusal: string | null;
}

function refusalOf(result: Awaited<ReturnType<typeof decide>>): string | null {
  if (result.kind === 'done') return null;
  if (result.kind === 'too-late') return result.message;
  return Object.values(result.problems).find((problem) => problem !== undefined) ?? unexpected;
}

const refusedBadge = <Badge tone="warn">Refused</Badge>;
const doneWords = { approve: 'Approved', reject: 'Rejected', recheck: 'Recheck requested' };

interface ResultsProps {
  decision: keyof typeof doneWords;
  results: readonly Decided[];
}

function Results({ decision, results }: ResultsProps) {
  const { query, organization } = useMember();
  const done = results.filter(({ refusal }) => refusal === null).length;
  const refused = results.length - done;
  return (
    <Frame
      title="Results"
      section="refunds"
      actions={<ButtonLink to={pageAddress(query)}>Back to the list</ButtonLink>}
    >
      <Notice tone={refused === 0 ? 'good' : 'warn'}>
        {doneWords[decision]}: {done}.{refused === 0 ? null : ` Refused, and not changed: ${refused}.`}
      </Notice>
      <List
        caption="Result for each refund"
        items={results}
        columns={[
          ['Refund', ({ id }) => <RefundLink id={id} />],
          ...metadataColumns(results, organization.refundColumns),
          [
            'Amount',
            ({ refund }) => refund && <Amount amount={refund.amount} currency={refund.currency} />,
            'number',
          ],
          [
            'Result',
            ({ refusal }) =>
              refusal === null ? <Badge tone="good">{doneWords[decision]}</Badge> : refusedBadge,
          ],
          ['Reason', ({ refusal }) => refusal],
        ]}
      />
    </Frame>
  );
}

function RefundLink({ id }: { id: string }) {
  return (
    <Link class="row-link" to={`/refunds/${encodeURIComponent(id)}`}>
      <code>{id}</code>
    </Link>
  );
}

interface ApprovalReviewProps {
  /** Those that await approval. */
  refunds: readonly RefundWithWork[];
  /** How many were selected. */
  selected: number;
}

/** What is approved: how many refunds, what they come to, and the largest of each currency. */
function ApprovalReview({ refunds, selected }: ApprovalReviewProps) {
  const { query, organization } = useMember();
  const items = refunds.map((refund) => ({ refund }));
  const others = selected - refunds.length;
  if (refunds.length === 0) {
    return (
      <Frame title="Approve refunds" section="refunds">
        <Empty title="None of these awaits approval">
          <ButtonLink to={pageAddress(query)}>Back to the list</ButtonLink>
        </Empty>
      </Frame>
    );
  }
  return (
    <Frame title="Approve refunds" section="refunds">
      {others > 0 && (
        <Notice tone="warn">Left out: {countOf(others, 'refund')} not awaiting approval.</Notice>
      )}
      <Form
        to={bulkPath(query)}
        submit={`Approve ${countOf(refunds.length, 'refund')}`}
        cancel={pageAddress(query)}
      >
        <Facts
          facts={[
            ['Total', listOf(sumsOf(refunds))],
            ['Largest', listOf(largestOf(refunds))],
          ]}
        />
        <p>Each is sent to its processor, after any hold of its policy. This can't be undone.</p>
        <HiddenFields values={{ decision: 'approve', reviewed: 'yes' }} />
        {refunds.map(({ id }) => (
          <input key={id} type="hidden" name="refund" value={id} />
        ))}
      </Form>
      <List
        caption="Refunds to approve, the largest first"
        items={items}
        columns={[
          ['Refund', ({ refund }) => <RefundLink id={refund.id} />],
          ...metadataColumns(items, organization.refundColumns),
          [
            'Amount',
            ({ refund: { amount, currency } }) => <Amount amount={amount} currency={currency} />,
            'number',
          ],
          ['Reason', ({ refund }) => reasonWords[refund.reason]],
        ]}
      />
    </Frame>
  );
}

type Money = Pick<RefundWithWork, 'amount' | 'currency'>;

function sumsOf(refunds: readonly Money[]): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { amount, currency } of refunds) sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  return sums;
}

/** @param refunds the largest of each currency first. */
function largestOf(refunds: readonly Money[]): Map<string, bigint> {
  const largest = new Map<string, bigint>();
  for (const { amount, currency } of refunds) {
    if (!largest.has(currency)) largest.set(currency, amount);
  }
  return largest;
}

function listOf(amounts: ReadonlyMap<string, bigint>): string {
  return new Intl.ListFormat('en').format(
    [...amounts].map(([currency, amount]) => inMoney(amount, currency)),
  );
}

/** The form again, with what has to be corrected. */
function Unfinished() {
  const { query } = useMember();
  const to = bulkPath(query);
  const { body, problems } = useSubmitted(to) ?? {};
  const ids = enteredList(body, 'refund');
  return (
    <Frame title="Decide" section="refunds">
      <FormNotice problem={problems?.refund} />
      <Form to={to} submit="Decide" cancel={pageAddress(query)}>
        <p>Selected: {ids.length}.</p>
        {ids.slice(0, maxRefunds).map((id) => (
          <input key={id} type="hidden" name="refund" value={id} />
        ))}
        <BulkFields />
      </Form>
    </Frame>
  );
}
