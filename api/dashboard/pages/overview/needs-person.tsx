import type { ComponentChildren } from 'preact';
import type { NeedsPerson, WaitingRefund } from '../../../../shared/insights/needs-person.ts';
import type { Waiting } from '../../../../shared/insights/waiting.ts';
import type { Context } from '../../http/access.ts';
import { Amount, Moment } from '../../layout/values.tsx';
import { processorWord } from '../../layout/words.ts';

/** What a person has to look at first; nothing at all when there is nothing. */
export function NeedsPersonCard({ context, needsPerson }: { context: Context; needsPerson: NeedsPerson }) {
  const { approvals, flagged, refusedAccounts, failedReconciliations, openFindings } = needsPerson;
  const total = [approvals, flagged, refusedAccounts, failedReconciliations, openFindings].reduce(
    (sum, { count }) => sum + count,
    0,
  );
  if (total === 0) return null;
  const settings = `${context.base}/settings/accounts`;
  return (
    <section class="card stack" aria-labelledby="needs-person">
      <h2 id="needs-person">Needs a person</h2>
      <Kind title="Waits for approval" waiting={approvals}>
        {approvals.items.map((item) => (
          <RefundLine key={item.refund.id} context={context} item={item} />
        ))}
      </Kind>
      <Kind title="Flagged" waiting={flagged}>
        {flagged.items.map((item) => (
          <RefundLine key={item.refund.id} context={context} item={item} />
        ))}
      </Kind>
      <Kind title="Accounts that their processor refuses" waiting={refusedAccounts}>
        {refusedAccounts.items.map(({ id, processor }) => (
          <li key={id}>
            <a href={settings}>{processorWord(processor)}</a>: set new credentials, refunds go on by
            themselves then.
          </li>
        ))}
      </Kind>
      <Kind title="Comparisons with a processor that failed" waiting={failedReconciliations}>
        {failedReconciliations.items.map(({ processor, runId, failure }) => (
          <li key={runId}>
            {processorWord(processor)}: {failure}
          </li>
        ))}
      </Kind>
      <Kind title="Differences from a processor's records" waiting={openFindings}>
        {openFindings.items.map(({ processor, findingId, refundId, message }) => (
          <li key={findingId}>
            {processorWord(processor)}: <a href={`${context.base}/refunds/${refundId}`}>{refundId}</a>{' '}
            {message}
          </li>
        ))}
      </Kind>
      {approvals.count + flagged.count === 0 ? null : (
        <p>
          <a href={`${context.base}/refunds?needsPerson=true`}>All refunds that need somebody</a>
        </p>
      )}
    </section>
  );
}

function Kind({
  title,
  waiting,
  children,
}: {
  title: string;
  waiting: Waiting<unknown>;
  children: ComponentChildren;
}) {
  if (waiting.count === 0) return null;
  return (
    <div class="stack-tight">
      <h3 class="row">
        {title}
        <span class="count">
          {waiting.count}
          {waiting.atLeast ? '+' : ''}
        </span>
        {waiting.oldest === null ? null : (
          <span class="muted small">
            the oldest <Moment at={waiting.oldest} />
          </span>
        )}
      </h3>
      <ul class="stack-tight">{children}</ul>
    </div>
  );
}

function RefundLine({ context, item: { refund, why } }: { context: Context; item: WaitingRefund }) {
  return (
    <li>
      <a href={`${context.base}/refunds/${refund.id}`}>
        <Amount amount={refund.amount} currency={refund.currency} />
      </a>{' '}
      of <code>{refund.transactionId}</code>: {why}
    </li>
  );
}
