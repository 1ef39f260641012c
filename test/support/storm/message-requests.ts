import fc from 'fast-check';
import {
  braintreeForm,
  braintreeKeys,
  braintreeNotification,
  signBraintree,
  signStripe,
  stripeEvent,
} from '../processors/signed-webhooks.ts';
import { hostileJson, hostileText, hostileValue, mutilated } from './hostile-values.ts';
import { arbitraryOf } from './schema-arbitrary.ts';
import {
  authorizationFor,
  bodyOf,
  type Content,
  contentType,
  mostly,
  nearly,
  type RequestParts,
  requestsTo,
  type StormRequest,
  type StormSources,
} from './storm-requests.ts';

/** A tool as `tools/list` describes it. */
export interface ListedTool {
  name: string;
  inputSchema: unknown;
}

/** Messages of the Model Context Protocol, most of them calls of tools. */
export function requestsToMcp(
  tools: readonly ListedTool[],
  sources: StormSources,
): fc.Arbitrary<StormRequest> {
  const call = fc.oneof(
    ...tools.map(({ name, inputSchema }) => {
      const valid = arbitraryOf(inputSchema, sources.known);
      return mostly(valid, fc.oneof(nearly(valid), hostileValue), 2).map((given) => ({
        method: 'tools/call',
        params: { name, arguments: given },
      }));
    }),
  );
  const other = fc.record({
    method: fc.oneof(
      fc.constantFrom('initialize', 'ping', 'tools/list', 'tools/call', 'notifications/initialized'),
      hostileText,
    ),
    params: hostileValue,
  });
  const message = mostly(call, other, 4).chain((content) =>
    fc.record({ jsonrpc: fc.constantFrom('2.0', '2.0', '2.0', '1.0'), id: fc.nat() }).map((frame) => ({
      ...frame,
      ...content,
    })),
  );
  const json = bodyOf(message) as fc.Arbitrary<Buffer>;
  const accept = mostly(
    fc.constant('application/json, text/event-stream'),
    fc.constantFrom('application/json', '*/*', 'text/html', ''),
    10,
  );
  const content = fc
    .record({
      accept,
      type: contentType,
      body: fc.oneof(
        { arbitrary: json, weight: 9 },
        { arbitrary: bodyOf(nearly(message)), weight: 3 },
        { arbitrary: mutilated(json), weight: 2 },
        { arbitrary: hostileJson.map((text) => Buffer.from(text)), weight: 1 },
        { arbitrary: bodyOf(fc.array(message, { maxLength: 3 })), weight: 1 },
      ),
    })
    .map(({ accept: accepted, type, body }) => ({ headers: { ...type, accept: accepted }, body }));
  return requestsTo({ method: 'post', path: '/mcp', operation: {} }, sources, {
    credentials: authorizationFor(sources),
    content,
  });
}

/** Webhooks of a processor: signed and well-formed, signed nonsense, and unsigned. */
export function requestsToWebhooks(
  processor: 'stripe' | 'braintree',
  sources: StormSources,
): fc.Arbitrary<StormRequest> {
  const path = `/webhooks/${processor}/{accountId}`;
  const parts: RequestParts = { credentials: fc.constant({}), content: contentOf[processor](sources) };
  return requestsTo({ method: 'post', path, operation: {} }, sources, parts);
}

const reported = ({ known }: StormSources) =>
  fc.record({
    externalRefundId: mostly(fc.constantFrom('re_storm', 'storm1'), hostileText, 4),
    refundId: mostly<string | null>(known.id as fc.Arbitrary<string>, fc.constant(null), 4),
    transactionId: known.transactionId as fc.Arbitrary<string>,
    processorStatus: mostly(fc.constantFrom('succeeded', 'failed', 'settled'), hostileText, 4),
  });

const contentOf: Record<'stripe' | 'braintree', (sources: StormSources) => fc.Arbitrary<Content>> = {
  stripe(sources) {
    const event = reported(sources).map((refund) => stripeEvent(refund));
    const text = fc.oneof(
      { arbitrary: event.map((value) => JSON.stringify(value)), weight: 3 },
      { arbitrary: nearly(event).map((value) => JSON.stringify(value) ?? ''), weight: 3 },
      { arbitrary: hostileValue.map((value) => JSON.stringify(value) ?? ''), weight: 1 },
      { arbitrary: hostileJson, weight: 1 },
    );
    return changedNowAndThen(text.map((body) => signStripe(body)));
  },
  braintree(sources) {
    const xml = fc.oneof(
      { arbitrary: reported(sources).map((refund) => braintreeNotification(refund)), weight: 3 },
      { arbitrary: hostileText, weight: 1 },
      { arbitrary: fc.constantFrom(...strangeXml), weight: 1 },
    );
    const payload = hostileText.map((text) => braintreeForm(text, braintreeKeys('test')));
    return changedNowAndThen(
      mostly(
        xml.map((text) => signBraintree(text)),
        payload,
        6,
      ),
    );
  },
};

const strangeXml = [
  '<notification>',
  '<a>'.repeat(2_000),
  `${'<a>'.repeat(500)}${'</a>'.repeat(500)}`,
  '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><notification><kind>&d;</kind></notification>',
  '<notification><kind>a</kind><timestamp type="datetime">never</timestamp></notification>',
  '<notification><kind type="array">a</kind><timestamp type="integer">1</timestamp></notification>',
  '<notification><subject><transaction>1</transaction></subject></notification>',
];

/** A signed webhook, and now and then one whose body or headers were changed on the way. */
function changedNowAndThen(
  signed: fc.Arbitrary<{ body: string; headers: Record<string, string> }>,
): fc.Arbitrary<Content> {
  const sent = signed.map(({ body, headers }) => ({ body: Buffer.from(body), headers }));
  const altered = fc.record({
    headers: fc.oneof(
      sent.map(({ headers }) => headers),
      hostileText.map((text) => ({
        'content-type': 'application/json',
        'stripe-signature': encodeURI(text.toWellFormed()),
      })),
    ),
    body: mutilated(sent.map(({ body }) => body)),
  });
  return mostly<Content>(sent, altered, 3);
}
