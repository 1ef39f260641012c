import { z } from 'zod';
import { rootEventType, testEventType, toRootEvent, toTestEvent } from '#shared/events/event.ts';
import { readRefundEvents } from '#shared/events/feed.ts';
import { environments } from '#shared/platform/environment.ts';
import { type PublicEventType, publicEventTypes } from '#shared/refunds/model/event-types.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { listOutput, oneOf, onlyOnce, timeOutput, wholeList, wholeNumber } from './fields.ts';
import { operation } from './operation.ts';
import { exampleRefund, failureSchema, refundSchema } from './refund-schemas.ts';
import { refundParamsSchema } from './refunds.ts';

const endedAt = '2026-11-20T09:30:02.000Z';

const refundOf = (changes: object) => ({ ...exampleRefund, ...changes });
const created = { externalRefundId: null };
const ended = { updatedAt: endedAt };
const failure = { code: 'card_declined', message: 'The card issuer declined the refund.' };

/** An event of each type: what it says of the refund, and what is special about it. */
const examples: Record<PublicEventType, { refund: object; seq: number; more?: object }> = {
  'refund.created': { refund: refundOf(created), seq: 1 },
  'refund.approval_required': { refund: refundOf({ ...created, status: 'pending' }), seq: 2 },
  'refund.processing': {
    refund: refundOf({ ...created, ...ended }),
    seq: 3,
    more: { previousStatus: 'pending' },
  },
  'refund.completed': {
    refund: refundOf({ ...ended, status: 'completed' }),
    seq: 4,
    more: { previousStatus: 'processing' },
  },
  'refund.failed': {
    refund: refundOf({ ...ended, status: 'failed' }),
    seq: 4,
    more: { previousStatus: 'processing', failure },
  },
  'refund.cancelled': {
    refund: refundOf({ ...created, ...ended, status: 'cancelled' }),
    seq: 2,
    more: { previousStatus: 'processing' },
  },
};

function exampleOfType(type: PublicEventType) {
  const { refund, seq, more } = examples[type];
  const isFirst = type === 'refund.created' || type === 'refund.approval_required';
  return {
    id: 'evt_01kahw3xs5fv2rj0c8m4t9p6ye',
    type,
    createdAt: isFirst ? exampleRefund.createdAt : endedAt,
    refundId: exampleRefund.id,
    seq,
    previousStatus: null,
    failure: null,
    ...more,
    data: { refund },
  };
}

export const examplesOfEvents = Object.fromEntries(
  publicEventTypes.map((type) => [type, exampleOfType(type)]),
) as Record<PublicEventType, ReturnType<typeof exampleOfType>>;

const exampleEvent = examplesOfEvents['refund.completed'];

export const eventSchema = z
  .object({
    id: z.string().describe('Opaque, prefixed with evt_.'),
    type: z.enum(publicEventTypes).describe('What happened.'),
    createdAt: timeOutput(),
    refundId: z.string().describe('The id of the refund.'),
    seq: z.int().positive().describe('Rises with every event of the refund; numbers may be left out.'),
    previousStatus: z
      .enum(refundStatuses)
      .nullable()
      .describe('The status before; null for `refund.created` and where the status did not change.'),
    failure: failureSchema.nullable().describe('Why the refund failed; null for every other type.'),
    data: z
      .object({ refund: refundSchema })
      .describe('The refund as it was right after the event, with its metadata as it is now.'),
  })
  .meta({ id: 'Event', description: 'A change of a refund.', examples: [exampleEvent] });

export const exampleTestEvent = toTestEvent('evt_01kahw6q0hfn3t5v7x9z1b3d5f', new Date(endedAt));

/** The fields of an event that is about no refund. */
const aboutNoRefund = (type: string) => ({
  id: z.string().describe('Opaque, prefixed with evt_.'),
  type: z.literal(type).describe(`Always ${type}.`),
  createdAt: timeOutput(),
  refundId: z.null().describe('The event is about no refund.'),
  seq: z.null().describe('Always null.'),
  previousStatus: z.null().describe('Always null.'),
  failure: z.null().describe('Always null.'),
});

/** What an endpoint gets when a test event is requested. */
export const testEventSchema = z
  .object({ ...aboutNoRefund(testEventType), data: z.object({}).describe('Empty.') })
  .meta({
    id: 'TestEvent',
    description: 'Shows that a webhook endpoint works.',
    examples: [exampleTestEvent],
  });

export const exampleRootEvent = toRootEvent(
  'evt_01kb2c0d9se5ya8rj4w6n3h7qx',
  new Date('2026-11-21T01:20:00.000Z'),
  {
    organizationId: exampleRefund.organizationId,
    environment: 'live',
    day: '2026-11-20',
    eventCount: 1204,
    root: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  },
);

/** What endpoints get after each day that has events. */
export const rootEventSchema = z
  .object({
    ...aboutNoRefund(rootEventType),
    data: z
      .object({
        organizationId: z.string().describe('The organization.'),
        environment: z.enum(environments).describe('The environment.'),
        day: z.iso.date().describe('The day, in UTC.'),
        eventCount: z
          .int()
          .positive()
          .describe('The entries of all timelines on that day, also internal ones.'),
        root: z.string().describe('A SHA-256 in hexadecimal. Keep it.'),
      })
      .describe('The root of the day.'),
  })
  .meta({
    id: 'RootEvent',
    description:
      'The root of a day, with which `timeline verify` proves that no event was changed or removed since.',
    examples: [exampleRootEvent],
  });

const listEventsQuerySchema = z.object({
  after: z
    .string({ error: onlyOnce })
    .optional()
    .meta({
      description: 'The id of the event to continue after: `nextAfter` of the previous page.',
      examples: [exampleEvent.id],
    }),
  limit: wholeNumber('The maximum number of events to return.', 1, 100, 25),
  type: oneOf(publicEventTypes).optional().describe('Only events of this type.'),
});

const eventPageSchema = listOutput(eventSchema).extend({
  nextAfter: z
    .string()
    .nullable()
    .meta({
      description: 'Pass it as `after` to continue. Null only when there is no event yet.',
      examples: [exampleEvent.id],
    }),
});

export const listRefundEvents = operation({
  id: 'listRefundEvents',
  route: 'GET /v1/refunds/:id/events',
  scope: 'refunds:read',
  tag: 'Events',
  summary: "List a refund's events",
  description: 'All events of one refund, oldest first.',
  params: refundParamsSchema,
  answer: 'The events of the refund.',
  output: listOutput(eventSchema, false),
  hasData: true,
  run: async (deps, { apiKey, params }) => wholeList(await readRefundEvents(deps.reads, apiKey, params.id)),
});

export const listEvents = operation({
  id: 'listEvents',
  route: 'GET /v1/events',
  scope: 'refunds:read',
  tag: 'Events',
  summary: 'List events',
  description:
    'All events of all refunds, oldest first, without gaps or repeats: continue with `after` set to `nextAfter`. ' +
    'With `Prefer: wait=N` an empty page is sent only after N seconds; an event is sent as soon as there is one.',
  defaultWaitMs: () => 0,
  query: listEventsQuerySchema,
  answer: 'One page of events.',
  output: eventPageSchema,
  hasData: true,
  run: async ({ feed }, { apiKey, query: { after, type, limit }, waitMs }) =>
    await feed.read(apiKey, { after, type, limit }, waitMs),
});
