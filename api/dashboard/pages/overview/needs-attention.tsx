import type { ComponentChildren } from 'preact';
import { mayAct } from '#shared/access/roles.ts';
import type { DisputedPayment } from '#shared/insights/disputed-payments.ts';
import type { FailingReceiver } from '#shared/insights/failing-receivers.ts';
import type { AttentionCount, NeedsAttention } from '#shared/insights/needs-attention.ts';
import type { UnseenBatch } from '#shared/insights/unseen-batches.ts';
import { abilitiesOf } from '#shared/processors/accounts/abilities.ts';
import { refusalsOf, refusalTitle } from '#shared/processors/accounts/ability-wording.ts';
import { accountLabel, displayNameOf } from '#shared/processors/registry.ts';
import type { Tone } from '../../components/badge.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { Moment } from '../../components/values.tsx';
import { type Context, useMember } from '../../http/access.ts';
import { accountsPath } from '../../http/paths.ts';
import { inMoney } from '../../words/numbers.ts';
import { accountTrouble, workersTrouble } from '../../words/trouble.ts';

interface NeedsAttentionProps {
  needsAttention: NeedsAttention;
}

/** One thing that needs attention. */
interface Item {
  icon: IconName;
  tone: Tone;
  title: string;
  /** Sums, the processor's words, an address. */
  detail: ComponentChildren;
  since: Date | null;
  /** The path below the environment, and its label; null for a role that may not act. */
  action: readonly [path: string, label: string] | null;
}

/** Lists what needs attention, each with an action; renders nothing if the list is empty. */
export function NeedsAttentionCard({ needsAttention }: NeedsAttentionProps) {
  const items = itemsOf(useMember(), needsAttention);
  if (items.length === 0) return null;
  return (
    <section class="card card-flush" aria-labelledby="needs-attention">
      <h2 id="needs-attention" class="card-head">
        Needs attention
      </h2>
      <ul class="attention">
        {items.map(({ icon, tone, title, detail, since, action }) => (
          <li key={title} data-tone={tone}>
            <Icon name={icon} />
            <div>
              <strong>{title}</strong> <span class="muted said">{detail}</span>
            </div>
            <span class="small muted">{since === null ? null : <Moment at={since} />}</span>
            {action === null ? null : <ButtonLink to={action[0]}>{action[1]}</ButtonLink>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function itemsOf({ role }: Context, needs: NeedsAttention): Item[] {
  const { now, workers, unansweredAccounts, approvals, flagged } = needs;
  const isOperator = mayAct(role, 'operator');
  const health = isOperator ? (['/health', 'View health'] as const) : null;
  const noWorker = workersTrouble(workers, now);
  const bad = { tone: 'bad', detail: null } as const;
  return [
    ...(noWorker === null
      ? []
      : [{ ...bad, icon: 'pulse' as const, title: noWorker, since: workers.seenAt, action: health }]),
    ...unansweredAccounts.map((account) => ({
      ...{ ...bad, icon: 'plug' as const, title: accountTrouble(account, now) },
      ...{ since: account.since, action: health },
    })),
    ...refundsItem('await approval', 'checklist', approvals, ['/approvals', 'Review']),
    ...refundsItem('are flagged', 'alert', flagged, ['/refunds?needsAttention=true', 'Resolve']),
    ...needs.lowBalances.flatMap(balanceItem),
    ...needs.disputedPayments.map(disputeItem),
    ...needs.unseenBatches.map(batchItem),
    ...accountItems(isOperator, needs),
    ...needs.failingReceivers.map((receiver) => failingItem(isOperator, receiver)),
    ...needs.disabledEndpoints.map(({ id, url, disabledReason, updatedAt }) => ({
      ...{ ...bad, icon: 'webhook' as const, since: updatedAt },
      action: isOperator ? ([`/webhooks/${id}`, 'View endpoint'] as const) : null,
      title: 'Webhook endpoint disabled',
      detail: `${url} ${disabledReason === 'gone' ? 'replied 410 Gone' : 'has not accepted an event for five days'}. Repair it, then enable it.`,
    })),
  ];
}

/** Refunds that wait for the balance of an account. */
function balanceItem({ account, ...count }: NeedsAttention['lowBalances'][number]): Item[] {
  const [item] = refundsItem(`await funds at ${accountLabel(account)}`, 'alert', count, [
    `/refunds?needsAttention=true&account=${account.id}`,
    'View refunds',
  ]);
  return item === undefined
    ? []
    : [
        {
          ...item,
          detail: `${item.detail}. Add funds in ${displayNameOf(account.processor)}; the refunds then continue.`,
        },
      ];
}

/** A finished batch, until someone dismisses it. */
function batchItem({ id, completedAt, rejectedCount, failedCount }: UnseenBatch): Item {
  const rows = (count: number, what: string) =>
    count === 0 ? [] : [`${count} ${count === 1 ? 'row' : 'rows'} ${what}`];
  return {
    ...{ icon: 'rows', tone: 'warn', since: completedAt },
    title: 'A refund batch finished with errors',
    detail: [...rows(rejectedCount, 'rejected'), ...rows(failedCount, 'failed')].join(', '),
    action: [`/batches/${id}`, 'View batch'],
  };
}

const failures: Readonly<Record<FailingReceiver['kind'], string>> = {
  endpoint: 'Webhook endpoint accepts no events',
  channel: 'Channel accepts no notifications',
  'gone channel': 'Channel is gone, and gets no more notifications',
};

/** What accepts no events, or no notifications. */
function failingItem(isOperator: boolean, { kind, id, address, since }: FailingReceiver): Item {
  const isEndpoint = kind === 'endpoint';
  return {
    ...{ icon: 'webhook', tone: 'bad', since, detail: address },
    title: failures[kind],
    action: !isOperator
      ? null
      : isEndpoint
        ? [`/webhooks/${id}`, 'View endpoint']
        : ['/settings/notifications', 'View channel'],
  };
}

/** A payment that was charged back while refunds of it are open. */
function disputeItem({ transactionId, processor, count, amount, currency, since }: DisputedPayment): Item {
  const refunds = count === 1 ? 'A refund is' : `${count} refunds are`;
  return {
    ...{ icon: 'alert', tone: 'bad', since },
    title: `Payment ${transactionId} is disputed`,
    detail: `${refunds} open: ${inMoney(amount, currency)}. Respond to the dispute in ${displayNameOf(processor)}.`,
    action: [`/payments/${encodeURIComponent(transactionId)}`, 'View payment'],
  };
}

/** What the settings of a processor account solve. */
function accountItems(
  isOperator: boolean,
  { refusedAccounts, failedReconciliations, discrepancies }: NeedsAttention,
): Item[] {
  const reconciliation = isOperator ? (['/reconciliation', 'View runs'] as const) : null;
  return [
    ...refusedAccounts.map((account) => {
      const refusals = refusalsOf(account);
      const isRejected = refusals[0] === 'credentials';
      return {
        ...{ tone: 'bad' as const, icon: 'key' as const, since: account.misconfiguredAt },
        title: refusalTitle(account, refusals),
        detail: abilitiesOf(account)[refusals[0] ?? 'credentials']?.message ?? null,
        action: [`${accountsPath}/${account.id}`, isRejected ? 'Set credentials' : 'Check account'] as const,
      };
    }),
    ...failedReconciliations.map(({ account, failure, since }) => ({
      ...{ tone: 'warn' as const, icon: 'arrow-switch' as const, detail: failure, since },
      title: `${accountLabel(account)} reconciliation failed`,
      action: reconciliation,
    })),
    ...discrepancies.map(({ account, count, since }) => ({
      ...{ tone: 'warn' as const, icon: 'arrow-switch' as const, since },
      title: `${count} ${count === 1 ? 'discrepancy' : 'discrepancies'} with ${accountLabel(account)}`,
      detail: 'found by the last reconciliation',
      action: reconciliation,
    })),
  ];
}

function refundsItem(
  what: string,
  icon: IconName,
  { count, atLeast, oldest, amounts }: AttentionCount,
  action: Item['action'],
): Item[] {
  if (count === 0) return [];
  const more = atLeast ? '+' : '';
  const sums = amounts.map(({ currency, amount }) => `${inMoney(amount, currency)}${more}`).join(', ');
  const verb = count === 1 ? what.replace(/^are /, 'is ').replace(/^await /, 'awaits ') : what;
  const title = `${count}${more} ${count === 1 ? 'refund' : 'refunds'} ${verb}`;
  return [{ icon, tone: 'warn', title, detail: sums, since: oldest, action }];
}
