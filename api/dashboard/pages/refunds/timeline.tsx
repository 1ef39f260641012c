import type { RefundEvent } from '../../../../shared/platform/database.ts';
import { statusWords } from '../../layout/badge.tsx';
import { Moment } from '../../layout/values.tsx';
import { eventFacts, eventWords } from './event-words.ts';

export interface TimelineProps {
  events: readonly RefundEvent[];
  /** Actors in words. */
  names: ReadonlyMap<string, string>;
}

/** Everything that has happened to a refund, the newest first: when, by whom, and what was said. */
export function Timeline({ events, names }: TimelineProps) {
  return (
    <section class="card stack" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <ol class="timeline" reversed>
        {events.toReversed().map((event) => (
          <Entry key={event.id} event={event} who={names.get(event.actor) ?? event.actor} />
        ))}
      </ol>
    </section>
  );
}

function Entry({ event, who }: { event: RefundEvent; who: string }) {
  const { title, tone } = eventWords(event);
  const { previousStatus, status, createdAt, id } = event;
  return (
    <li id={id} data-tone={tone}>
      <h3>{title}</h3>
      <p class="small muted">
        <Moment at={createdAt} />, {who}
        {previousStatus === null ? null : `, ${statusWords[previousStatus]} → ${statusWords[status]}`}
      </p>
      {eventFacts(event).map(({ label, value }) => (
        <p key={label} class="small said">
          <span class="muted">{label}:</span> {value}
        </p>
      ))}
    </li>
  );
}
