import type { ServerResponse } from 'node:http';
import { chargeJson, transactionXml } from './processor-replies.ts';
import { json, type Seen, xml } from './scripted-server.ts';

/**
 * Answers for both processors like one that tells too much: every refusal repeats the request with its credentials, and
 * whatever else it is told to say. A payment is there unless its id says `unreadable`; how its refund is refused stands
 * in its id, too: `rejected`, `forbidden`, `throttled`, and anything else breaks.
 */
export function echoing(alsoSay: string): (seen: Seen, response: ServerResponse) => void {
  return (seen, response) => {
    const { headers, body, path } = seen;
    const { authorization = '' } = headers;
    // Braintree's keys also decoded, because encoded ones are recognized by their form. First, as the end of a long message is cut off.
    const decoded = authorization.replace(/^Basic (.*)/, (_, keys) => Buffer.from(keys, 'base64').toString());
    const words = [decoded, authorization, alsoSay, JSON.stringify(headers), body, path].join(' ');
    if (path.startsWith('/merchants/')) answerBraintree(seen, response, words);
    else answerStripe(seen, response, words);
  };
}

function answerStripe({ method, path, body }: Seen, response: ServerResponse, words: string): void {
  const refuse = (status: number, type: string) =>
    json(response, status, { error: { type, code: words.slice(0, 200), message: words } });
  if (path.startsWith('/v1/charges/') && !path.includes('unreadable')) {
    json(response, 200, chargeJson({ id: path.split(/[/?]/)[3] }));
    return;
  }
  if (method === 'GET' && path.startsWith('/v1/refunds')) {
    json(response, 200, { object: 'list', data: [], has_more: false });
    return;
  }
  if (body.includes('rejected')) refuse(400, 'invalid_request_error');
  else if (body.includes('throttled')) refuse(429, 'rate_limit_error');
  else if (body.includes('forbidden') || path.includes('unreadable')) refuse(401, 'invalid_request_error');
  else refuse(500, 'api_error');
}

function answerBraintree({ method, path }: Seen, response: ServerResponse, words: string): void {
  if (method === 'GET' && !path.includes('unreadable')) {
    xml(response, 200, transactionXml({ id: path.split('/').at(-1) ?? '' }));
    return;
  }
  const said = words.replace(/[<>&"]/g, ' ');
  const error = `<error><code>${said.slice(0, 200)}</code><attribute>base</attribute><message>${said}</message></error>`;
  const status = path.includes('rejected') ? 422 : path.includes('throttled') ? 429 : 500;
  xml(
    response,
    path.includes('forbidden') || path.includes('unreadable') ? 403 : status,
    `<api-error-response><errors><errors type="array"/><transaction><errors type="array">${error}</errors></transaction>` +
      `</errors><message>${said}</message></api-error-response>`,
  );
}
