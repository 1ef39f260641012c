const both = 'application/json, text/event-stream';

/** Which of the two forms of an answer a client takes. Without an Accept header, or with a wildcard, it takes JSON. */
export interface AcceptedTypes {
  json: boolean;
  stream: boolean;
}

/** @returns null for a client that takes neither. */
export function acceptedTypes(accept = '*/*'): AcceptedTypes | null {
  const types = accept.split(',').map((type) => (type.split(';')[0] ?? '').trim().toLowerCase());
  const json = ['*/*', 'application/*', 'application/json'].some((type) => types.includes(type));
  const stream = ['text/*', 'text/event-stream'].some((type) => types.includes(type));
  return json || stream ? { json, stream } : null;
}

/** The headers of a request for the library, which demands that a client takes both. */
export function withBothTypes(headers: Headers): Headers {
  const changed = new Headers(headers);
  changed.set('accept', both);
  return changed;
}

/** An answer in a form that the client takes. A stream of the library is one message here. */
export async function inAcceptedType(answer: Response, { json, stream }: AcceptedTypes): Promise<Response> {
  const { status, headers } = answer;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (answer.body === null || (isStream ? stream : json)) return answer;
  const text = await answer.text();
  const changed = new Headers(headers);
  changed.set('content-type', isStream ? 'application/json' : 'text/event-stream');
  const [, message = ''] = /^data: (.*)$/m.exec(text) ?? [];
  return new Response(isStream ? message : `event: message\ndata: ${text}\n\n`, { status, headers: changed });
}
