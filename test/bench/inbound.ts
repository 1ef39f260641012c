import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { WebhookEndpoint } from '../sandbox/ledger.ts';
import { signedStripeEvent } from '../sandbox/stripe/webhooks.ts';
import { waitFor } from '../support/wait-for.ts';
import { costsOf } from './figures.ts';
import type { LoadRequest } from './load.ts';
import { type Both, measureLoads, runMeasured, runRequests } from './measure.ts';
import type { Pipeline } from './pipelines.ts';
import { buildRow, type Conditions, type Results } from './results.ts';

/**
 * Measures webhooks per second without other requests: events of completed refunds, which say what is on record, each with a
 * new id. Both pipelines get the same ones.
 */
export async function measureInbound(
  pipelines: Both<Pipeline>,
  conditions: Conditions,
  say: (line: string) => void,
): Promise<Results> {
  const { service, naked } = pipelines;
  const endpoints = { service: await endpointOf(service), naked: await endpointOf(naked) };
  const events = await recordEvents(service, endpoints.service);
  let sent = 0;
  const measured = await measureLoads({
    ...{ pipelines, loads: ['webhooks'], ...conditions, say },
    run: (name, _, seconds) => {
      const next = () => requestOf(endpoints[name], events[sent++ % events.length] ?? '');
      return runMeasured(pipelines[name], { seconds, next });
    },
  });
  const pair = measured.get('webhooks');
  if (pair === undefined) throw new Error('Webhooks were not measured.');
  const title = 'webhooks that agree with the record';
  return { rows: [buildRow(pair, { title })], figures: costsOf(pair, 'webhook') };
}

/** Where a pipeline receives Stripe's webhooks in the test environment. */
async function endpointOf({ sandbox }: Pipeline): Promise<WebhookEndpoint> {
  const { webhooks } = (await sandbox.control.settings({})) as { webhooks: WebhookEndpoint[] };
  const found = webhooks.find(
    ({ processor, environment }) => processor === 'stripe' && environment === 'test',
  );
  if (found === undefined) throw new Error('The sandbox sends no webhooks.');
  return found;
}

/** Creates refunds, each of a payment of its own, and returns the events of the sandbox, which sends no more afterwards. */
async function recordEvents(service: Pipeline, endpoint: WebhookEndpoint): Promise<string[]> {
  const bodies: string[] = [];
  const recorder = createServer(async (request, response) => {
    bodies.push(await text(request));
    response.end();
  });
  await new Promise<void>((resolve) => recorder.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}/`;
  const { control } = service.sandbox;
  await control.settings({ webhooks: [{ ...endpoint, url }] });
  const { answered } = await runRequests(service, 'new', 1);
  await waitFor('the events of the refunds', () => bodies.length >= 3 * answered);
  await control.settings({ webhooks: [] });
  recorder.closeAllConnections();
  recorder.close();
  return bodies;
}

function requestOf({ url, ...keys }: WebhookEndpoint, event: string): LoadRequest {
  const payload = event.replace(/"id": "evt_\w+"/, `"id": "evt_${randomBytes(12).toString('hex')}"`);
  const { headers, body } = signedStripeEvent(payload, keys);
  return { method: 'POST', path: new URL(url).pathname, headers, body };
}
