import type { z } from 'zod';
import { rootEventType, testEventType } from '#shared/events/event.ts';
import { publicEventTypes } from '#shared/refunds/model/event-types.ts';
import {
  eventSchema,
  exampleRootEvent,
  examplesOfEvents,
  exampleTestEvent,
  rootEventSchema,
  testEventSchema,
} from '../operations/events.ts';

const signatureHeaders = [
  {
    name: 'webhook-id',
    description: 'The id of the event. It is the same each time the event is sent.',
    schema: { type: 'string' },
    example: 'evt_01kahw3xs5fv2rj0c8m4t9p6ye',
  },
  {
    name: 'webhook-timestamp',
    description: 'When this attempt was made, in seconds since 1970.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '1795167002',
  },
  {
    name: 'webhook-signature',
    description:
      'Signatures by Standard Webhooks, separated by spaces: each is `v1,` and the HMAC-SHA256 of id, timestamp and body, joined by ' +
      'periods, in base64. While a secret is replaced, all valid secrets sign.',
    schema: { type: 'string' },
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
].map((header) => ({ ...header, in: 'header', required: true }));

const responses = {
  '2XX': { description: 'The event is delivered.' },
  '410': { description: 'The endpoint is disabled and gets no further events.' },
  default: {
    description: 'Any other response, a redirect or none within 15 seconds: the event is sent again later.',
  },
};

/** The `webhooks` of the OpenAPI document: the events that are sent to the endpoints of an organization. */
export function describeWebhooks(): Record<string, unknown> {
  const refundEvents = publicEventTypes.map((type) => [
    type,
    describe(
      type,
      examplesOfEvents[type],
      eventSchema,
      'Sent to endpoints that chose this type or all types.',
    ),
  ]);
  const test = describe(
    testEventType,
    exampleTestEvent,
    testEventSchema,
    'Sent on request, to see whether an endpoint works. It is not in the feed.',
  );
  const root = describe(
    rootEventType,
    exampleRootEvent,
    rootEventSchema,
    'Sent after each day that has events, to endpoints that chose this type or all types. It is not in the feed.',
  );
  return { ...Object.fromEntries(refundEvents), [rootEventType]: root, [testEventType]: test };
}

function describe(type: string, example: unknown, schema: z.ZodType, description: string): unknown {
  return {
    post: {
      operationId: `on${type.replace(/(?:^|[._])([a-z])/g, (_match, letter: string) => letter.toUpperCase())}`,
      summary: type,
      description,
      tags: ['Webhooks'],
      security: [],
      parameters: signatureHeaders,
      requestBody: {
        required: true,
        description: 'The event. Verify the signature over the bytes as they arrived.',
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${schema.meta()?.id}` },
            examples: { example: { value: example } },
          },
        },
      },
      responses,
    },
  };
}
