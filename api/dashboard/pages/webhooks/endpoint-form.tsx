import { z } from 'zod';
import { createEndpointSchema } from '#api/operations/webhook-endpoints.ts';
import type { Settings } from '#shared/platform/config.ts';
import { type EndpointEvent, endpointEvents } from '#shared/webhooks/endpoint.ts';
import { Fields } from '../../components/fields.tsx';
import type { Choices } from '../../words/words.ts';

/** The input of the API operation that creates an endpoint, as a form. */
export function endpointSchema({ NODE_ENV }: Pick<Settings, 'NODE_ENV'>) {
  const { url, events, description } = createEndpointSchema(NODE_ENV === 'production').shape;
  return z.object({
    url: url.meta({ title: 'URL', description: 'Events are sent here by POST.', format: 'uri' }),
    description: z
      .preprocess((text) => (text === '' ? null : text), description)
      .meta({ title: 'Description', description: 'Optional. A note for you.', maxLength: 500 }),
    events: z
      .preprocess((given) => [given ?? []].flat(), events.unwrap())
      .meta({ title: 'Events', description: undefined, type: 'array' }),
  });
}

/** The name of an event to subscribe to. */
export function eventWord(event: EndpointEvent): string {
  return event === '*' ? 'All events, including new types' : event;
}

const eventChoices: Choices = endpointEvents.map((event) => [event, eventWord(event)]);

/** What an endpoint is: its URL, its description and its events. */
export function EndpointFields() {
  return <Fields schema={endpointSchema({ NODE_ENV: 'development' })} choices={{ events: eventChoices }} />;
}
