import type { FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { pageOf } from '#shared/platform/cursor.ts';
import { displayNameOf, processorNames } from '#shared/processors/registry.ts';
import {
  findReceivedEvents,
  type ReceivedEvent,
  receivedEventDays,
} from '#shared/refunds/queries/received-events.ts';
import { ButtonLink, Link } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { List, Pages } from '../components/list.tsx';
import { Empty } from '../components/notice.tsx';
import { Moment, ShortId } from '../components/values.tsx';
import { contextOf, useMember } from '../http/access.ts';
import { cursorIn, type Filter, filterIn } from '../http/filter.ts';
import { page } from '../http/page.ts';
import { receivedEventsPath as path } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { type Choices, processorChoices } from '../words/words.ts';
import { eventWords } from './refunds/timeline.tsx';

const pageLength = 50;

/** A malformed value means no filter. */
const filterSchema = z.object({
  processor: z.enum(processorNames).optional().catch(undefined).meta({ title: 'Processor' }),
  id: z
    .string()
    .max(255)
    .optional()
    .catch(undefined)
    .meta({ title: 'Event ID', description: 'The whole ID, such as evt_1Qx...' }),
});

/** `/processor-events`: what processors sent about refunds and payments of the environment, and what followed. */
export function receivedEventsPage(scope: Api, { db }: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { owner, query } = contextOf(request);
    const filter = filterIn(filterSchema, query);
    const { reading } = filter;
    const asked = reading.kind === 'valid' ? reading.value : {};
    const cursor = cursorIn(query);
    const { rows: events, next } = await pageOf(
      { cursor, limit: pageLength },
      (before, limit) => findReceivedEvents(db, owner, asked, before, limit),
      ({ receivedAt, id }) => ({ createdAt: receivedAt, id }),
    );
    return { events, next, cursor, filter };
  };
  page(scope, path, 'operator', read, ReceivedEvents);
}

interface ReceivedEventsProps {
  events: readonly ReceivedEvent[];
  next: string | null;
  cursor: string | null;
  filter: Filter<unknown>;
}

const allProcessors: Choices = [['', 'All processors'], ...processorChoices];

function ReceivedEvents({ events, next, cursor, filter }: ReceivedEventsProps) {
  const { entered } = filter;
  return (
    <Frame title="Processor events" section="health">
      <p class="muted">
        Events that differed from our records when they arrived. Each causes a recheck of its refund or
        payment.
      </p>
      <FilterForm to={path} schema={filterSchema} filter={filter} choices={{ processor: allProcessors }} />
      {events.length > 0 ? (
        <EventList events={events} />
      ) : (
        <NoEvents isFiltered={Object.keys(entered).length > 0} />
      )}
      <Pages to={path} filter={entered} cursor={cursor} older={next} />
      <NotListed />
    </Frame>
  );
}

function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  const { environment } = useMember();
  return !isFiltered ? (
    <Empty title={`No stored events in ${environment}`} icon="webhook">
      <p>Only events that differ from our records are stored.</p>
    </Empty>
  ) : (
    <Empty title={`No matching events in ${environment}`}>
      <p>Clear the filters, or see below why an event may be missing.</p>
      <ButtonLink to={path}>Clear filters</ButtonLink>
    </Empty>
  );
}

function EventList({ events }: Pick<ReceivedEventsProps, 'events'>) {
  return (
    <List
      caption="Processor events, newest first"
      items={events}
      isCompact
      columns={[
        ['Event', ({ type, id }) => <TwoLines first={type} second={<ShortId id={id} />} />],
        [
          'Refund',
          (event) => <TwoLines first={<RefundOf {...event} />} second={displayNameOf(event.processor)} />,
        ],
        [
          'Reported status',
          (event) => <TwoLines first={event.processorStatus} second={sinceThen(event)} />,
          'named',
        ],
        ['Received', ({ receivedAt }) => <Moment at={receivedAt} />],
      ]}
    />
  );
}

function TwoLines({ first, second }: { first: ComponentChildren; second: ComponentChildren }) {
  return (
    <span>
      {first}
      <span class="detail small muted">{second}</span>
    </span>
  );
}

function RefundOf({ refundId, externalRefundId }: ReceivedEvent) {
  if (refundId !== null) {
    return (
      <Link to={`/refunds/${refundId}`}>
        <ShortId id={refundId} />
      </Link>
    );
  }
  if (externalRefundId === null) return <span class="muted">None</span>;
  return (
    <span class="muted">
      <ShortId id={externalRefundId} /> (not created here)
    </span>
  );
}

/** What followed an event, according to the record. */
function sinceThen({ refundId, nextEntry }: ReceivedEvent): string {
  if (refundId === null) return 'Payment rechecked before its next use';
  return nextEntry === null ? 'No change so far' : eventWords({ type: nextEntry }).title;
}

/** Why an event may be missing from the list. */
function NotListed() {
  return (
    <Card id="not-listed" title="Event not listed?">
      <p>Find the event in the processor's dashboard, and check the response to it:</p>
      <ul class="stack-tight">
        <li>
          <strong>200:</strong> the event arrived. Events that match our records, are duplicates or concern
          nothing in {useMember().environment} are not stored; others are deleted after {receivedEventDays}{' '}
          days.
        </li>
        <li>
          <strong>400:</strong> the signature was invalid. Compare the secret or keys of the{' '}
          <Link to="/settings/accounts">account</Link> with the processor's.
        </li>
        <li>
          <strong>404:</strong> the webhook URL set at the processor belongs to no account.
        </li>
        <li>
          <strong>Another response, or none:</strong> the event was not accepted. The processor sends it
          again.
        </li>
      </ul>
    </Card>
  );
}
