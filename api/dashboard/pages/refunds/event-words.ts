import type { RefundEvent } from '../../../../shared/platform/database.ts';
import type { RefundEventType } from '../../../../shared/refunds/model/event-types.ts';
import type { Tone } from '../../layout/badge.tsx';

interface EventWords {
  title: string;
  tone: Tone;
}

const words: Readonly<Record<RefundEventType, EventWords>> = {
  'refund.created': { title: 'Asked for', tone: 'quiet' },
  'refund.approval_required': { title: 'Awaiting approval', tone: 'warn' },
  'refund.processing': { title: 'Approved', tone: 'wait' },
  'refund.completed': { title: 'Completed', tone: 'good' },
  'refund.failed': { title: 'Failed', tone: 'bad' },
  'refund.cancelled': { title: 'Cancelled', tone: 'quiet' },
  'attempt.started': { title: 'Being sent to the processor', tone: 'wait' },
  'attempt.accepted': { title: 'The processor accepted it', tone: 'wait' },
  'attempt.unavailable': {
    title: 'Not sent: the processor was not available; tried again later',
    tone: 'warn',
  },
  'attempt.unknown': { title: 'No clear answer: whether it arrived has to be found out', tone: 'warn' },
  'attempt.misconfigured': { title: 'Not sent: the processor refuses the account', tone: 'bad' },
  'lookup.found': { title: 'Found at the processor', tone: 'wait' },
  'lookup.absent': { title: 'Surely not at the processor; sent again', tone: 'wait' },
  'lookup.inconclusive': { title: 'Not seen at the processor, which proves nothing yet', tone: 'warn' },
  'lookup.unanswered': { title: 'The processor did not say whether it has it', tone: 'warn' },
  'lookup.flagged': { title: 'Needs a person: the processor refuses the account', tone: 'bad' },
  'settlement.progress': { title: 'Further on at the processor', tone: 'wait' },
  'settlement.flagged': { title: 'Needs a person', tone: 'bad' },
  'cancel.requested': { title: 'Cancellation asked for', tone: 'wait' },
  'cancel.refused': { title: 'The processor does not take it back', tone: 'warn' },
  'cancel.unanswered': { title: 'The processor did not answer the cancellation', tone: 'warn' },
  'review.agreed': { title: 'Read again: the processor agrees', tone: 'good' },
  'review.flagged': { title: 'Needs a person: the processor tells it differently', tone: 'bad' },
  'review.kept': { title: 'Let stand as it is', tone: 'good' },
  'reconciliation.flagged': { title: 'Needs a person: found by reconciliation', tone: 'bad' },
};

/** What an entry of a timeline says in a few words; one that another version of the service has written stands for itself. */
export function eventWords({ type }: Pick<RefundEvent, 'type'>): EventWords {
  return Object.hasOwn(words, type) ? words[type as RefundEventType] : { title: type, tone: 'quiet' };
}

const factLabels: Readonly<Record<string, string>> = {
  policy: 'Policy',
  reason: 'Reason',
  problem: 'About',
  message: 'The processor said',
  code: 'Code',
  processorStatus: "The processor's status",
  externalRefundId: "The processor's refund",
  extraRefundId: 'The other refund',
  attempt: 'Attempt',
  against: 'Decided against',
  endedAt: 'The attempt ended',
  conclusiveAt: 'Certain from',
  kind: 'Kind',
};

/** What an entry holds besides, each with a label; what is only there for programs is left out. */
export function eventFacts({ detail }: Pick<RefundEvent, 'detail'>): { label: string; value: string }[] {
  const given = Object.entries((detail ?? {}) as Record<string, unknown>);
  const facts = given.flatMap(([name, value]) => {
    const label = Object.hasOwn(factLabels, name) ? factLabels[name] : undefined;
    return label === undefined || value === null ? [] : [{ label, value: String(value) }];
  });
  const { forced, sent } = (detail ?? {}) as { forced?: unknown; sent?: unknown };
  if (forced === true) facts.push({ label: 'Insisted', value: 'although the processor did not confirm it' });
  if (sent === false) facts.push({ label: 'Sent', value: 'never, no money moved' });
  return facts;
}
