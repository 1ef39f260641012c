import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { nameActors } from '#shared/audit/actors.ts';
import { remainingOf } from '#shared/payments/payment.ts';
import type { Payment, Refund, RefundEvent } from '#shared/platform/database.ts';
import { readDecision } from '#shared/policies/decision.ts';
import { type AccountName, loadAccount } from '#shared/processors/accounts/account.ts';
import { readApprovalRefusal } from '#shared/refunds/decisions/four-eyes.ts';
import { recoveryRequiredSince } from '#shared/refunds/lifecycle/recovery.ts';
import { openAttempt } from '#shared/refunds/model/attempts.ts';
import type { RefundEventType } from '#shared/refunds/model/event-types.ts';
import type { Facts, Flag } from '#shared/refunds/model/flags.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { type Waiting, waitingOf } from '#shared/refunds/model/waiting.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { StatusBadge } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Live } from '../../components/live.tsx';
import { Notice } from '../../components/notice.tsx';
import { contextOf, useMember } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { page } from '../../http/page.ts';
import { idInPath, withQuery } from '../../http/paths.ts';
import { isForPart, useRequest } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { inMoney } from '../../words/numbers.ts';
import { Alerts } from './alerts.tsx';
import { type Approval, readApproval } from './approvers.tsx';
import { CustomerMessage, readMessage, type ShownMessage } from './customer-message.tsx';
import { Decisions } from './decision-dialogs.tsx';
import { addDecisions, decisionNames, type Undecided } from './decisions.ts';
import { PaymentCard, PaymentRefunds, RefundFacts } from './facts.tsx';
import { Timeline } from './timeline.tsx';

/** `/refunds/:id`: one refund with its payment and timeline, and the decisions about it. */
export function refundPages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const detail = await readDetail(deps, request);
    return { detail, message: await readMessage(deps, request, detail.refund) };
  };
  addDecisions(deps, {
    page: page(scope, '/refunds/:id', 'viewer', read, Detail),
    ...{ path: '/refunds', names: decisionNames },
    nextOf: ({ id }) => `/refunds/${id}`,
  });
}

/** The content of a refund's page. */
interface RefundDetail {
  refund: RefundWithWork;
  payment: Payment;
  account: AccountName;
  /** What it waits for. */
  waiting: Waiting | null;
  /** The newest other refunds of the payment, newest first. */
  others: readonly Refund[];
  /** The newest of its timeline, oldest first. */
  events: readonly RefundEvent[];
  /** The first of its timeline. */
  created: RefundEvent | null;
  /** True while it is uncertain whether money moved. */
  isUncertain: boolean;
  /** The display names of the events' actors. */
  names: ReadonlyMap<string, string>;
  /** Why the user may not approve it; null when they may, or when it does not await approval. */
  approvalRefusal: string | null;
  /** Who can approve it; null when it does not await approval. */
  approval: Approval | null;
  now: Date;
}

/** The other refunds of the payment that are shown. */
const othersShown = 5;

/** The newest entries of a timeline that are shown. */
const eventsShown = 500;

/**
 * @param id the one in the path, by default.
 * @throws ServiceError not_found for a refund of another organization or environment.
 */
export async function readDetail(
  deps: Pick<ApiDependencies, 'db' | 'clock'>,
  request: FastifyRequest,
  id = idInPath(request, 'id', 'ref'),
): Promise<RefundDetail> {
  const { db } = deps;
  const context = contextOf(request);
  const refund = await findOwnRefund(db, context.owner, id);
  const { paymentId, accountId } = refund;
  const [payment, account, others, newest, created, isUncertain, requiredSince] = await Promise.all([
    db.payment.findUniqueOrThrow({ where: { id: paymentId } }),
    loadAccount(db, { accountId }),
    db.refund.findMany({
      where: { paymentId, id: { not: id } },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: othersShown,
    }),
    db.refundEvent.findMany({ where: { refundId: id }, orderBy: { seq: 'desc' }, take: eventsShown }),
    db.refundEvent.findUnique({ where: { refundId_seq: { refundId: id, seq: 1 } } }),
    hasUncertainEnd(db, refund),
    recoveryRequiredSince(db),
  ]);
  const events = newest.toReversed();
  const actors = [...events, ...(created === null ? [] : [created])].map(({ actor }) => actor);
  const names = await nameActors(db, context.owner.organizationId, actors);
  const mayDecide = refund.status === 'pending' && mayAct(context.role, 'operator');
  const approvalRefusal =
    mayDecide && created !== null
      ? await readApprovalRefusal(deps, refund, created.actor, context.actor)
      : null;
  const approval = refund.status === 'pending' ? await readApproval(deps, request, refund.requester) : null;
  const now = deps.clock.now();
  const waiting = waitingOf(refund, refund.work, requiredSince, now);
  return {
    refund,
    waiting,
    payment,
    account,
    others,
    events,
    created,
    isUncertain,
    names,
    approvalRefusal,
    approval,
    now,
  };
}

/** After these events it is uncertain whether money moved, until a review agrees. */
const uncertainEvents = [
  'review.flagged',
  'flag.dismissed',
  'reconciliation.flagged',
] satisfies RefundEventType[];

const agreement = 'review.agreed' satisfies RefundEventType;

async function hasUncertainEnd(
  db: Pick<ApiDependencies['db'], 'refundEvent'>,
  { id: refundId, work }: RefundWithWork,
): Promise<boolean> {
  if (work?.flaggedAt != null) return work.flagReason !== 'returned';
  const newest = await db.refundEvent.findMany({
    where: { refundId, type: { in: [...uncertainEvents, agreement] } },
    orderBy: { seq: 'desc' },
    take: eventsShown,
    select: { type: true, detail: true },
  });
  const last = newest.find((event) => !wasReturned(event));
  return last !== undefined && last.type !== agreement;
}

/** True when a person has seen to money that came back, which is certain. */
function wasReturned({ detail }: Pick<RefundEvent, 'detail'>): boolean {
  return (detail as { settled?: Pick<Flag, 'reason'> } | null)?.settled?.reason === 'returned';
}

/** What a flag says may have moved, until a read of the payment after it counts that as refunded elsewhere. */
function uncountedOf(
  { amount, isLive, work }: RefundWithWork,
  { fetchedAt }: Pick<RefundDetail['payment'], 'fetchedAt'>,
): bigint {
  if (work?.flaggedAt == null || (fetchedAt !== null && fetchedAt > work.flaggedAt)) return 0n;
  if (work.flagReason === 'extra_refund') return BigInt((work.flagFacts as Facts).amount ?? 0);
  return isLive ? 0n : amount;
}

interface DetailProps extends Undecided {
  detail: RefundDetail;
  message: ShownMessage | null;
}

function Detail({ detail, message, tooLate, isForceable }: DetailProps) {
  const { amount, currency } = detail.refund;
  const head = {
    beside: <Status refund={detail.refund} />,
    actions: <Actions detail={detail} isForceable={isForceable} />,
  };
  return (
    <Frame title={`Refund of ${inMoney(amount, currency)}`} section="refunds" {...head}>
      <NothingChanged tooLate={tooLate} />
      <State detail={detail} message={message} />
      {isForPart(useRequest()) && Object.values(head)}
    </Frame>
  );
}

/** Says why a decision came too late. */
export function NothingChanged({ tooLate }: Pick<Undecided, 'tooLate'>) {
  if (tooLate === undefined) return null;
  return (
    <Notice tone="warn">
      <strong>Nothing was changed.</strong>
      {tooLate}
    </Notice>
  );
}

/** Parts of the page's head are updated together with the state below it. */
const updated = { 'hx-swap-oob': 'outerMorph' };

function Status({ refund: { status } }: Pick<RefundDetail, 'refund'>) {
  return (
    <span id="status" aria-live="polite" {...updated}>
      <StatusBadge status={status} />
    </span>
  );
}

function Actions({ detail, isForceable }: Omit<DetailProps, 'message'>) {
  const { refund, payment, isUncertain, approvalRefusal, now } = detail;
  const left = remainingOf(payment);
  // The remaining amount is unknown while the outcome is uncertain.
  const mayRefundMore = refund.status !== 'pending' && left !== null && left > 0n && !isUncertain;
  const { role } = useMember();
  const again = `/refunds/new?again=${refund.id}`;
  return (
    <div id="actions" class="row" {...updated}>
      {mayAct(role, 'operator') ? (
        <>
          {mayRefundMore ? (
            <ButtonLink to={again}>{refund.isLive ? 'Refund more' : 'Try again'}</ButtonLink>
          ) : null}
          <Decisions {...{ refund, isForceable, approvalRefusal, now }} />
        </>
      ) : null}
    </div>
  );
}

function State({ detail, message }: DetailProps) {
  const { refund, waiting, payment, account, others, events, created } = detail;
  const { isUncertain, names, approvalRefusal, approval, now } = detail;
  const who = created === null ? null : (names.get(created.actor) ?? null);
  // A finished refund may change again after a resync.
  const isMoving = !isTerminal(refund.status) || refund.work?.dueAt != null;
  const path = `/refunds/${refund.id}`;
  // Updates keep the language of the message.
  const from = withQuery(path, { language: entered(useMember().query, 'language') });
  return (
    <Live id="state" from={from} everySeconds={isMoving ? 2 : null}>
      <div class="stack">
        <Alerts
          {...{ refund, payment, waiting, isUncertain, approvalRefusal, approval, now }}
          decision={readDecision(created?.detail)}
        />
        <div class="columns">
          <RefundFacts {...{ refund, who, isUncertain, account, payment }} />
          <PaymentCard
            payment={{ ...payment, processor: refund.processor }}
            transactionId={refund.transactionId}
            page={`/payments/${encodeURIComponent(refund.transactionId)}`}
            uncounted={uncountedOf(refund, payment)}
          >
            <PaymentRefunds refunds={others} areOthers />
          </PaymentCard>
        </div>
        {message && <CustomerMessage page={path} message={message} />}
        <Timeline
          events={events}
          open={openAttempt(refund.work)}
          names={names}
          processor={refund.processor}
        />
      </div>
    </Live>
  );
}
