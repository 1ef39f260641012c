import type { VNode } from 'preact';
import type { RefundEvent } from '#shared/platform/database.ts';
import type { Attempt } from '#shared/refunds/model/attempts.ts';
import type { RefundEventType } from '#shared/refunds/model/event-types.ts';
import { processorStatusWords, wordsFor } from '#shared/refunds/model/flag-wording.ts';
import type { Facts, Flag } from '#shared/refunds/model/flags.ts';
import { statusWords, type Tone } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { ExactTime, Sentence } from '../../components/values.tsx';
import { inMoney, inTime } from '../../words/numbers.ts';

interface TimelineProps {
  /** The newest, oldest first. */
  events: readonly RefundEvent[];
  /** The attempt without an event. */
  open: Attempt | null;
  /** Actors in words. */
  names: ReadonlyMap<string, string>;
  processor: string;
}

/** A refund's events, the newest first. */
export function Timeline({ events, open, names, processor }: TimelineProps) {
  const entryOf = (event: RefundEvent) => (
    <Entry
      key={event.id}
      event={event}
      previous={events[events.indexOf(event) - 1]}
      who={names.get(event.actor) ?? event.actor}
      processor={processor}
    />
  );
  return (
    <Card id="timeline" title="Timeline">
      <ol class="timeline" reversed>
        {open === null ? null : (
          <li data-tone="wait">
            <h3>Sent, outcome unknown</h3>
            <p class="small muted">
              <ExactTime at={new Date(open.startedAt)} />, attempt {open.number}
            </p>
          </li>
        )}
        {foldUnanswered(events)
          .toReversed()
          .map((run) =>
            run.length < foldedFrom ? (
              run.toReversed().map(entryOf)
            ) : (
              <Folded key={run[0]?.id} run={run} entryOf={entryOf} />
            ),
          )}
      </ol>
      <Earlier events={events} />
    </Card>
  );
}

/** How many entries are older than those that are shown. */
function Earlier({ events: [first] }: Pick<TimelineProps, 'events'>) {
  if (first === undefined || first.seq === 1) return null;
  return <p class="small muted">Not shown: {first.seq - 1} earlier entries.</p>;
}

/** Events without an answer in a row are folded from this many. */
const foldedFrom = 3;

const attemptTypes: readonly string[] = [
  'attempt.unavailable',
  'attempt.unknown',
] satisfies RefundEventType[];
const lookupTypes: readonly RefundEventType[] = ['lookup.absent', 'lookup.inconclusive', 'lookup.unanswered'];
const unansweredTypes = new Set<string>([...attemptTypes, ...lookupTypes, 'cancel.unanswered']);

/** Splits events into runs: those without an answer that follow each other, and each of the others alone. */
function foldUnanswered(events: readonly RefundEvent[]): RefundEvent[][] {
  const runs: RefundEvent[][] = [];
  for (const event of events) {
    const last = runs.at(-1);
    const isSame = unansweredTypes.has(event.type) && unansweredTypes.has(last?.[0]?.type ?? '');
    if (isSame) last?.push(event);
    else runs.push([event]);
  }
  return runs;
}

interface FoldedProps {
  run: readonly RefundEvent[];
  entryOf: (event: RefundEvent) => VNode;
}

/** "17 attempts without a result, 10:02 to 10:41", which unfolds to them. */
function Folded({ run, entryOf }: FoldedProps) {
  const [first, last] = [run[0], run.at(-1)];
  if (first === undefined || last === undefined) return null;
  const what = run.every(({ type }) => attemptTypes.includes(type)) ? 'attempts' : 'attempts and lookups';
  return (
    <li data-tone="warn">
      <details id={`from-${first.id}`}>
        <summary>
          <h3>
            {run.length} {what} without a result
          </h3>
        </summary>
        <ol class="timeline" reversed>
          {run.toReversed().map(entryOf)}
        </ol>
      </details>
      <p class="small muted">
        <ExactTime at={first.createdAt} /> to <ExactTime at={last.createdAt} />
      </p>
    </li>
  );
}

interface EntryProps {
  event: RefundEvent;
  /** The event before it. */
  previous: RefundEvent | undefined;
  who: string;
  processor: string;
}

function Entry({ event, previous, who, processor }: EntryProps) {
  const { title, tone } = eventWords(event);
  const { previousStatus, status, createdAt, id } = event;
  const sinceMs = previous === undefined ? 0 : createdAt.getTime() - previous.createdAt.getTime();
  return (
    <li id={id} data-tone={tone}>
      <h3>{title}</h3>
      <p class="small muted">
        <ExactTime at={createdAt} />
        {sinceMs < 1_000 ? '' : `, ${inTime(sinceMs)} later`}, <bdi>{who}</bdi>
        {previousStatus === null ? null : `, ${statusWords[previousStatus]} → ${statusWords[status]}`}
      </p>
      {eventFacts(event, processor).map(({ label, value }) => (
        <p key={label} class="small said">
          <span class="muted">{label}:</span>{' '}
          <bdi>
            <Sentence text={value} />
          </bdi>
        </p>
      ))}
    </li>
  );
}

interface EventWords {
  title: string;
  tone: Tone;
}

const words: Readonly<Record<RefundEventType, EventWords>> = {
  'refund.created': { title: 'Created', tone: 'quiet' },
  'refund.approval_required': { title: 'Awaiting approval', tone: 'warn' },
  'refund.processing': { title: 'Approved', tone: 'wait' },
  'refund.completed': { title: 'Completed', tone: 'good' },
  'refund.failed': { title: 'Failed', tone: 'bad' },
  'refund.cancelled': { title: 'Cancelled', tone: 'quiet' },
  'attempt.accepted': { title: 'Accepted by the processor', tone: 'wait' },
  'attempt.unavailable': { title: 'Not accepted yet, sent again later', tone: 'warn' },
  'attempt.unknown': { title: 'No clear answer from the processor', tone: 'warn' },
  'attempt.misconfigured': { title: 'Not sent: the account cannot be used', tone: 'bad' },
  'lookup.found': { title: 'Found at the processor', tone: 'wait' },
  'lookup.absent': { title: 'Not at the processor, sent again', tone: 'wait' },
  'lookup.inconclusive': { title: 'Not found at the processor yet', tone: 'warn' },
  'lookup.unanswered': { title: 'Lookup not answered', tone: 'warn' },
  'lookup.flagged': { title: 'Flagged: the account cannot be used', tone: 'bad' },
  'settlement.progress': { title: 'New status at the processor', tone: 'wait' },
  'settlement.flagged': { title: 'Flagged', tone: 'bad' },
  'cancel.requested': { title: 'Cancellation requested', tone: 'wait' },
  'cancel.refused': { title: 'Cancellation refused by the processor', tone: 'warn' },
  'cancel.unanswered': { title: 'Cancellation not answered by the processor', tone: 'warn' },
  'arrival.known': { title: 'Reference of the bank received', tone: 'quiet' },
  'review.agreed': { title: 'Rechecked: the processor agrees', tone: 'good' },
  'review.flagged': { title: 'Flagged: the processor disagrees', tone: 'bad' },
  'metadata.changed': { title: 'Metadata changed', tone: 'quiet' },
  'note.added': { title: 'Note', tone: 'quiet' },
  'flag.dismissed': { title: 'Flag dismissed', tone: 'good' },
  'reconciliation.flagged': { title: 'Flagged by reconciliation', tone: 'bad' },
  'recovery.put_back': { title: 'Put back on record after a restore', tone: 'warn' },
};

/** An event in a few words; an unknown type is shown as it is. */
export function eventWords({ type }: Pick<RefundEvent, 'type'>): EventWords {
  return Object.hasOwn(words, type) ? words[type as RefundEventType] : { title: type, tone: 'quiet' };
}

const factLabels: Readonly<Record<string, string>> = {
  policy: 'Policy',
  reason: 'Reason',
  message: 'Processor message',
  code: 'Code',
  processorStatus: 'Processor status',
  externalRefundId: 'Processor refund',
  reference: 'Bank reference',
  referenceType: 'Kind of reference',
  endedAt: 'Attempt ended',
  conclusiveAt: 'Conclusive from',
};

/** What is stored with an event, each with a label. */
function eventFacts(
  { type, detail }: Pick<RefundEvent, 'type' | 'detail'>,
  processor: string,
): { label: string; value: string }[] {
  const { flag, settled, against, forced, sent, attempt, ...plain } = (detail ?? {}) as {
    flag?: Flag;
    settled?: Flag;
    against?: { kind: string; facts: Facts };
    forced?: boolean;
    sent?: boolean;
    attempt?: Attempt;
    [name: string]: unknown;
  };
  const facts = Object.entries(plain).flatMap(([name, value]) => {
    const label = Object.hasOwn(factLabels, name) ? labelOf(type, name) : undefined;
    const shown = name === 'processorStatus' ? processorStatusWords(String(value)) : String(value);
    return label === undefined || value === null ? [] : [{ label, value: shown }];
  });
  for (const each of [flag, settled]) {
    if (!each?.facts) continue;
    facts.push({ label: 'Flag', value: wordsFor(each.reason, each.facts, processor).summary });
  }
  if (forced === true) facts.push({ label: 'Forced', value: evidenceWords(against) });
  if (attempt) {
    const startedAt = new Date(attempt.startedAt).toISOString();
    facts.push({ label: 'Attempt', value: `${attempt.number}, started ${startedAt}` });
  }
  if (sent === false) facts.push({ label: 'Sent', value: 'never' });
  return facts;
}

/** How the `message` of events is labelled that is not the processor's. */
const messageLabels: Partial<Record<RefundEventType, string>> = {
  'metadata.changed': 'Keys',
  'note.added': 'Text',
};

function labelOf(type: string, name: string): string | undefined {
  return (name === 'message' && messageLabels[type as RefundEventType]) || factLabels[name];
}

/** What a forced decision went against. */
function evidenceWords(against: { kind: string; facts: Facts } | undefined): string {
  if (against?.kind === 'absent') return 'the processor does not have it';
  const { externalRefundId, processorStatus, amount, currency } = against?.facts ?? {};
  if (externalRefundId === undefined) return 'the processor could not confirm it';
  const sum = amount === undefined || currency === undefined ? '' : `, ${inMoney(BigInt(amount), currency)}`;
  return `the processor shows ${externalRefundId} as ${processorStatusWords(processorStatus ?? '')}${sum}`;
}
