import type { FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/people/actors.ts';
import { mayAct } from '#shared/people/roles.ts';
import type { Refund } from '#shared/platform/database.ts';
import { approvalReasons, denialReason, readDecision } from '#shared/policies/decision.ts';
import { findApprovers } from '#shared/refunds/decisions/four-eyes.ts';
import { isFlaggedForExtra } from '#shared/refunds/model/flags.ts';
import { encodeCursor, searchRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { Card, type Fact, Facts } from '../../components/card.tsx';
import { CsrfField } from '../../components/form.tsx';
import { Empty, Notice } from '../../components/notice.tsx';
import { Amount, Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { initiatorWords, reasonWords } from '../../words/words.ts';
import { Reject, type UnfinishedDecision } from './decision-dialogs.tsx';
import { decisionRoute, nothingChanged } from './decisions.tsx';
import { readDetail } from './detail.tsx';
import { PaymentFacts, PaymentRefunds } from './facts.tsx';

const path = '/approvals';

/** `/approvals`: the refunds that await approval, one after another, the oldest first. */
export function approvalQueuePages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'viewer' } }, async (request, reply) => {
    const context = contextOf(request);
    const cursor = entered(request.query, 'cursor');
    const { refunds, ...around } = await searchRefunds(
      deps.db,
      context.owner,
      { statuses: ['pending'] },
      { cursor: cursor === '' ? null : cursor, limit: 1, isOldestFirst: true },
    );
    const [refund] = refunds;
    return sendPage(
      reply,
      refund === undefined ? (
        <Page context={context} around={null}>
          <NoneLeft context={context} isEnd={cursor !== ''} />
        </Page>
      ) : (
        <Page context={context} around={around}>
          <Waiting context={context} waiting={await readWaiting(deps, context, refund.id)} />
        </Page>
      ),
    );
  });

  for (const name of ['approve', 'reject'] as const) {
    decisionRoute(scope, deps, {
      ...{ path, name, nextOf },
      showAgain: async (request, reply, result) => {
        const context = contextOf(request);
        const { id = '' } = request.params as { id?: string };
        const isUnfinished = result.kind === 'unfinished';
        const waiting = await readWaiting(deps, context, id);
        return sendPage(
          reply.code(isUnfinished ? 400 : 409),
          <Page context={context} around={{ next: cursorAfter(waiting.refund), previous: null }}>
            {isUnfinished ? (
              <Waiting context={context} waiting={waiting} unfinished={result.decision} />
            ) : (
              nothingChanged(result.message)
            )}
          </Page>,
        );
      },
    });
  }
}

function cursorAfter(position: Pick<Refund, 'id' | 'createdAt'>): string {
  return encodeCursor({ direction: 'newer', position });
}

function nextOf(request: FastifyRequest, refund: Refund): string {
  return `${contextOf(request).base}${path}?cursor=${cursorAfter(refund)}`;
}

type Waiting = Awaited<ReturnType<typeof readWaiting>>;

/** What a person needs to know to decide about a refund. */
async function readWaiting(deps: ApiDependencies, context: Context, id: string) {
  const detail = await readDetail(deps, context, id);
  const { refund, events, names, approvalRefusal } = detail;
  const requester = events[0]?.actor ?? '';
  const mayDecide = mayAct(context.role, 'operator');
  const approvers = mayDecide && approvalRefusal === null ? [] : await findApprovers(deps, refund);
  const approverNames = await nameActors(deps.db, context.owner.organizationId, approvers);
  return {
    ...detail,
    mayDecide,
    who: names.get(requester) ?? requester,
    decision: readDecision(events[0]?.detail),
    /** Those who can approve it, when the user cannot. */
    approvers: [...approverNames.values()],
  };
}

interface PageProps {
  context: Context;
  /** Cursors; null for none. */
  around: { next: string | null; previous: string | null } | null;
  children: ComponentChildren;
}

function Page({ context, around, children }: PageProps) {
  const at = (cursor: string) => `${context.base}${path}?cursor=${cursor}`;
  const { next = null, previous = null } = around ?? {};
  return (
    <Frame
      context={context}
      title="Approvals"
      section="approvals"
      actions={
        <>
          {previous === null ? null : (
            <ButtonLink to={at(previous)} shortcut="k">
              Previous
            </ButtonLink>
          )}
          {next === null ? null : (
            <ButtonLink to={at(next)} shortcut="j n">
              Next
            </ButtonLink>
          )}
        </>
      }
    >
      {children}
    </Frame>
  );
}

function NoneLeft({ context, isEnd }: { context: Context; isEnd: boolean }) {
  const { approvals } = context.counts;
  if (isEnd && approvals > 0) {
    return (
      <Empty title="You have reached the end" icon="checklist">
        <p>Refunds before this point still await approval.</p>
        <ButtonLink to={`${context.base}${path}`}>Start again</ButtonLink>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing awaits approval" icon="checklist">
      <p>Refunds appear here when a policy or the limits of an API key require approval.</p>
    </Empty>
  );
}

interface WaitingProps {
  context: Context;
  waiting: Waiting;
  unfinished?: UnfinishedDecision | undefined;
}

function Waiting({ context, waiting, unfinished }: WaitingProps) {
  const { refund, payment, who, decision, others } = waiting;
  const denial = denialReason(decision);
  const reasons = approvalReasons(decision, refund.currency);
  return (
    <>
      <Notice tone="warn">
        {reasons.length === 0 ? <p>Approval was required when it was created.</p> : null}
        {[...reasons, ...(denial === null ? [] : [denial])].map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </Notice>
      <div class="columns">
        <Card id="refund" title={<Amount amount={refund.amount} currency={refund.currency} />}>
          <Facts
            facts={[
              ['Reason', reasonWords[refund.reason]],
              ['Requested by', `${who} (${initiatorWords[refund.initiatedBy]})`],
              ['Created', <Moment key="created" at={refund.createdAt} />],
              ['Policy', decision.policy ?? null],
              ...metadataFacts(refund.metadata),
              [
                'Refund',
                <a key="id" href={`${context.base}/refunds/${refund.id}`}>
                  <code>{refund.id}</code>
                </a>,
              ],
            ]}
          />
        </Card>
        <PaymentFacts payment={payment} transactionId={refund.transactionId}>
          <PaymentRefunds context={context} refunds={others} areOthers />
        </PaymentFacts>
      </div>
      <Decide context={context} waiting={waiting} unfinished={unfinished} />
    </>
  );
}

/** The first level of the metadata; what is deeper as JSON. */
function metadataFacts(metadata: unknown): Fact[] {
  return Object.entries((metadata ?? {}) as Record<string, unknown>).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
}

/** The bar with the decisions that the user may make, or who can make them. */
function Decide({ context, waiting, unfinished }: WaitingProps) {
  const { refund, approvalRefusal, approvers, mayDecide } = waiting;
  const to = `${path}/${refund.id}`;
  const who = approvers.length === 0 ? null : `Can approve: ${namesOf(approvers)}.`;
  if (!mayDecide) {
    return (
      <div class="action-bar">
        <p>Your role is {context.role}, which cannot approve refunds.</p>
        {who === null ? null : <p class="muted">{who}</p>}
      </div>
    );
  }
  return (
    <div class="action-bar">
      {approvalRefusal !== null ? (
        <div>
          <p>{approvalRefusal}</p>
          {who === null ? null : <p class="muted">{who}</p>}
        </div>
      ) : isFlaggedForExtra(refund.work) ? (
        <p>
          <a href={`${context.base}/refunds/${refund.id}`}>Resolve the flag</a> before you approve this
          refund.
        </p>
      ) : (
        <form method="post" action={`${context.base}${to}/approve`}>
          <CsrfField token={context.csrfToken} />
          <Submit kind="primary" shortcut="a">
            Approve
          </Submit>
        </form>
      )}
      <Reject context={context} to={`${to}/reject`} submitted={unfinished} shortcut="r" />
    </div>
  );
}

/** The most members that are named. */
const maxNamed = 5;

function namesOf(names: readonly string[]): string {
  const named = names.slice(0, maxNamed).join(', ');
  const more = names.length - maxNamed;
  return more > 0 ? `${named} and ${more} more` : named;
}
