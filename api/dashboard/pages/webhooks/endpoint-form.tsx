import { z } from 'zod';
import { createEndpointSchema } from '#api/operations/webhook-endpoints.ts';
import { type EndpointEvent, endpointEvents } from '#shared/webhooks/endpoint.ts';
import { Fields } from '../../components/fields.tsx';
import type { FormState } from '../../components/form.tsx';
import { capitalized, type FormReading, readForm } from '../../http/forms.ts';
import type { Choices } from '../../words/words.ts';

/** The input of the API operation that creates an endpoint, as a form. */
function endpointSchema(isProduction: boolean) {
  const { url, events, description } = createEndpointSchema(isProduction).shape;
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

export type EnteredEndpoint = z.output<ReturnType<typeof endpointSchema>>;

/** @param isProduction as `checkEndpointUrl`. */
export function readEndpointForm(body: unknown, isProduction: boolean): FormReading<EnteredEndpoint> {
  const reading = readForm(endpointSchema(isProduction), body);
  if (reading.kind === 'valid') return reading;
  const sentences = Object.entries(reading.problems).map(
    ([field, problem = '']) => [field, `${capitalized(problem)}.`] as const,
  );
  return { kind: 'invalid', problems: Object.fromEntries(sentences) };
}

/** The name of an event to subscribe to. */
export function eventWord(event: EndpointEvent): string {
  return event === '*' ? 'All events, also new types' : event;
}

const eventChoices: Choices = endpointEvents.map((event) => [event, eventWord(event)]);

/** What an endpoint is: its URL, its description and its events. */
export function EndpointFields({ form }: { form: FormState }) {
  return <Fields schema={endpointSchema(false)} form={form} choices={{ events: eventChoices }} />;
}
