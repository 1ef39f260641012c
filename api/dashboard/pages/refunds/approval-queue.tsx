import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { encodeCursor, type Position } from '#shared/platform/cursor.ts';
import { approvalReasons, denialReason, readDecision } from '#shared/policies/decision.ts';
import { isFlaggedForExtra } from '#shared/refunds/model/flags.ts';
import { searchRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { ButtonLink, Link } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Post } from '../../components/form.tsx';
import { Empty, Notice } from '../../components/notice.tsx';
import { Amount, Moment } from '../../components/values.tsx';
import { contextOf, useMember } from '../../http/access.ts';
import { cursorIn } from '../../http/filter.ts';
import { page } from '../../http/page.ts';
import { Frame } from '../../layout/frame.tsx';
import { reasonWords, requesterWords } from '../../words/words.ts';
import { Disputed } from './alerts.tsx';
import { Approvers } from './approvers.tsx';
import { Reject } from './decision-dialogs.tsx';
import { addDecisions, type Undecided } from './decisions.ts';
import { NothingChanged, readDetail } from './detail.tsx';
import { metadataFacts, PaymentCard, PaymentRefunds } from './facts.tsx';

const path = '/approvals';

/** `/approvals`: the refunds that await approval, one after another, the oldest first. */
export function approvalQueuePages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    // A decision that was not carried out shows its refund again.
    if ('id' in Object(request.params)) {
      const waiting = await readWaiting(deps, request);
      return { waiting, isEnd: false, around: { next: cursorAfter(waiting.refund), previous: null } };
    }
    const context = contextOf(request);
    const cursor = cursorIn(request.query);
    const filter = { status: ['pending' as const] };
    const search = { cursor, limit: 1, isOldestFirst: true };
    const { refunds, ...around } = await searchRefunds(deps.db, context.owner, filter, search);
    const waiting = refunds[0] && (await readWaiting(deps, request, refunds[0].id));
    return { waiting, isEnd: cursor !== null, around };
  };
  addDecisions(deps, {
    page: page(scope, path, 'viewer', read, Queue),
    ...{ path, names: ['approve', 'reject'] },
    nextOf: (refund) => `${path}?cursor=${cursorAfter(refund)}`,
  });
}

function cursorAfter(position: Position): string {
  return encodeCursor({ direction: 'newer', position });
}

type Waiting = Awaited<ReturnType<typeof readWaiting>>;

/** What a person needs to know to decide about a refund. */
async function readWaiting(deps: ApiDependencies, request: FastifyRequest, id?: string) {
  const detail = await readDetail(deps, request, id);
  const { events, names } = detail;
  const requester = events[0]?.actor ?? '';
  return {
    ...detail,
    mayDecide: mayAct(contextOf(request).role, 'operator'),
    who: names.get(requester) ?? requester,
    decision: readDecision(events[0]?.detail),
  };
}

interface QueueProps extends Undecided {
  waiting: Waiting | undefined;
  /** True beyond the first page. */
  isEnd: boolean;
  /** Cursors; null for none. */
  around: { next: string | null; previous: string | null };
}

function Queue({ waiting, isEnd, around: { previous, next }, tooLate }: QueueProps) {
  const linkTo = (cursor: string | null, shortcut: string, words: string) =>
    cursor && (
      <ButtonLink to={`${path}?cursor=${cursor}`} shortcut={shortcut}>
        {words}
      </ButtonLink>
    );
  const { approvals } = useMember().counts;
  const beside = approvals > 0 && <span class="muted">{approvals > 99 ? '99+' : approvals} waiting</span>;
  const actions = [linkTo(previous, 'k', 'Previous'), linkTo(next, 'j n', 'Next')];
  return (
    <Frame title="Approvals" section="approvals" beside={beside} actions={actions}>
      <NothingChanged tooLate={tooLate} />
      {waiting === undefined && <NoneLeft isEnd={isEnd} />}
      {waiting !== undefined && tooLate === undefined && <WaitingRefund waiting={waiting} />}
    </Frame>
  );
}

function NoneLeft({ isEnd }: { isEnd: boolean }) {
  const { approvals } = useMember().counts;
  if (isEnd && approvals > 0) {
    return (
      <Empty title="You have reached the end" icon="checklist">
        <p>Refunds before this point still await approval.</p>
        <ButtonLink to={path}>Start again</ButtonLink>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing awaits approval" icon="checklist">
      <p>Refunds appear here when a policy or the limits of an API key require approval.</p>
      <ButtonLink to="/policies">View policies</ButtonLink>
    </Empty>
  );
}

interface WaitingProps {
  waiting: Waiting;
}

function WaitingRefund({ waiting }: WaitingProps) {
  const { refund, payment, who, decision, others } = waiting;
  const { refundColumns } = useMember().organization;
  const metadata = metadataFacts(refund.metadata);
  const denial = denialReason(decision);
  const reasons = approvalReasons(decision, refund.currency);
  return (
    <>
      <Disputed refund={refund} payment={payment} />
      <Notice tone="warn">
        {reasons.length === 0 ? <p>The reason for the approval was not recorded.</p> : null}
        {[...reasons, ...(denial === null ? [] : [denial])].map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </Notice>
      <div class="columns">
        <Card id="refund" title={<Amount amount={refund.amount} currency={refund.currency} />}>
          <Facts
            facts={[
              ...refundColumns.flatMap((named) => metadata.filter(([key]) => key === named)),
              ['Reason', reasonWords[refund.reason]],
              ['Requested by', requesterWords(refund.initiatedBy, who)],
              ['Created', <Moment key="created" at={refund.createdAt} />],
              ['Policy', decision.policy ?? null],
              ...metadata.filter(([key]) => !refundColumns.includes(key)),
              [
                'Refund',
                <Link key="id" to={`/refunds/${refund.id}`}>
                  <code>{refund.id}</code>
                </Link>,
              ],
            ]}
          />
        </Card>
        <PaymentCard
          payment={{ ...payment, processor: refund.processor }}
          transactionId={refund.transactionId}
        >
          <PaymentRefunds refunds={others} areOthers />
        </PaymentCard>
      </div>
      <Decide waiting={waiting} />
    </>
  );
}

/** The bar with the decisions that the user may make, or who can make them. */
function Decide({ waiting }: WaitingProps) {
  const { role } = useMember();
  const { refund, approvalRefusal, approval, mayDecide } = waiting;
  const to = `${path}/${refund.id}`;
  const who = approval === null ? null : <Approvers approval={approval} />;
  if (!mayDecide) {
    return (
      <div class="action-bar card row">
        <p>Your role is {role}, which cannot approve refunds.</p>
        {who}
      </div>
    );
  }
  return (
    <div class="action-bar card row">
      {approvalRefusal !== null ? (
        <div>
          <p>{approvalRefusal}</p>
          {who}
        </div>
      ) : isFlaggedForExtra(refund.work) ? (
        <p>
          <Link to={`/refunds/${refund.id}`}>Resolve the flag</Link> before you approve this refund.
        </p>
      ) : (
        <Post to={`${to}/approve`} kind="primary" shortcut="a">
          Approve
        </Post>
      )}
      <Reject to={`${to}/reject`} shortcut="r" />
    </div>
  );
}
