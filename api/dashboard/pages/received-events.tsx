import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { displayNameOf, processorNames } from '#shared/processors/registry.ts';
import {
  listReceivedEvents,
  type ReceivedEvent,
  type ReceivedEventFilter,
  receivedEventDays,
} from '#shared/refunds/queries/received-events.ts';
import { ButtonLink, Link, Submit } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { SelectField, TextField } from '../components/form.tsx';
import { List, Pages } from '../components/list.tsx';
import { Empty } from '../components/notice.tsx';
import { Moment } from '../components/values.tsx';
import { contextOf, needs, useAddress, useMember } from '../http/access.ts';
import { receivedEventsPath as path, withQuery } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { processorChoices } from '../words/words.ts';
import { eventWords } from './refunds/timeline.tsx';

const pageLength = 50;

/** A malformed value means no filter, or the first page. */
const querySchema = z.object({
  processor: z.enum(processorNames).optional().catch(undefined),
  id: z.string().trim().min(1).max(255).optional().catch(undefined),
  offset: z.coerce.number().int().min(0).max(1_000_000).catch(0),
});

/** `/processor-events`: what processors sent about refunds and payments of the environment, and what followed. */
export function receivedEventsPage(scope: Api, { db }: ApiDependencies): void {
  scope.get(path, needs('operator'), async (request) => {
    const { offset, ...filter } = querySchema.parse(request.query);
    const page = { ...filter, limit: pageLength, offset };
    const { events, hasMore } = await listReceivedEvents(db, contextOf(request).owner, page);
    return <ReceivedEvents {...{ events, hasMore, filter, offset }} />;
  });
}

interface ReceivedEventsProps {
  events: readonly ReceivedEvent[];
  hasMore: boolean;
  filter: ReceivedEventFilter;
  offset: number;
}

function ReceivedEvents({ events, hasMore, filter, offset }: ReceivedEventsProps) {
  const at = (from: number) => withQuery(path, { ...filter, offset: from });
  return (
    <Frame title="Processor events" section="health">
      <p class="muted">
        Events that differed from our records when they arrived. Each causes a recheck of its refund or
        payment.
      </p>
      <FilterForm filter={filter} />
      {events.length === 0 ? <NoEvents filter={filter} /> : <EventList events={events} />}
      <Pages newest={offset === 0 ? null : at(0)} older={hasMore ? at(offset + pageLength) : null} />
      <NotListed />
    </Frame>
  );
}

function FilterForm({ filter }: Pick<ReceivedEventsProps, 'filter'>) {
  const form = { body: filter, problems: {} };
  return (
    <form method="get" action={useAddress(path)} class="card stack">
      <div class="fields">
        <SelectField
          form={form}
          name="processor"
          label="Processor"
          choices={[['', 'All processors'], ...processorChoices]}
        />
        <TextField form={form} name="id" label="Event ID" hint="The whole ID, such as evt_1Qx..." />
      </div>
      <div>
        <Submit>Filter</Submit>
      </div>
    </form>
  );
}

function NoEvents({ filter: { processor, id } }: Pick<ReceivedEventsProps, 'filter'>) {
  const { environment } = useMember();
  return processor === undefined && id === undefined ? (
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
        [
          'Event',
          ({ type, id }) => (
            <>
              {type}
              <br />
              <code class="small muted">{id}</code>
            </>
          ),
        ],
        ['Processor', ({ processor }) => displayNameOf(processor)],
        ['Received', ({ receivedAt }) => <Moment at={receivedAt} />],
        ['Refund', (event) => <RefundOf {...event} />],
        ['Reported status', ({ processorStatus }) => processorStatus, 'named'],
        ['Since then', sinceThen, 'named'],
      ]}
    />
  );
}

function RefundOf({ refundId, externalRefundId }: ReceivedEvent) {
  if (refundId !== null) return <Link to={`/refunds/${refundId}`}>{refundId}</Link>;
  return (
    <span class="muted">{externalRefundId === null ? 'None' : `${externalRefundId} (not created here)`}</span>
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
