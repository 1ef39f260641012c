import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { openDatabase } from '#shared/platform/database.ts';
import { SecretBox } from '#shared/platform/secrets/secrets.ts';
import { waitFor } from '../support/wait-for.ts';
import { addEndpoint, type EndpointStage, recordRefunds } from '../support/webhooks/endpoints.ts';
import { readStatementCount } from './measure.ts';
import { type ServicePipeline, startReceiver } from './pipelines.ts';
import { call } from './requests.ts';
import type { Conditions, Results, Row } from './results.ts';

/** The endpoints whose deliveries count. Another one accepts events at first, and later does not respond. */
const healthyEndpoints = 49;

/** Attempts that the worker makes at once: `mostPlaces` in worker/deliver/deliver-webhook.ts. */
const concurrency = 1_000;

/** Each goes to every endpoint. */
const eventsPerSecond = 20;

/** What the receiver counts. */
interface Counted {
  count: number;
  firstAt: number;
  lastAt: number;
}

interface Rate {
  count: number;
  ms: number;
}

/**
 * Measures deliveries to endpoints that accept them, with another endpoint that does so, too, and then does not respond.
 * Beside them, the same signed request is sent as often by a loop of the same concurrency that does nothing else.
 */
export async function measureDeliveries(
  service: ServicePipeline,
  { seconds, rounds }: Conditions,
  say: (line: string) => void,
): Promise<Results> {
  const { databaseUrl, encryptionKey, organizationId, endpointId } = service;
  const receiver = await startReceiver();
  const db = openDatabase(databaseUrl, { poolSize: 2 });
  const secrets = new SecretBox([encryptionKey]);
  const stage = {
    deps: { db, secrets, clock: { now: () => new Date() } },
    organization: { id: organizationId },
  };
  const events = Math.ceil(eventsPerSecond * seconds);
  try {
    if (endpointId !== null) await change(service, endpointId, { status: 'disabled' });
    for (let number = 1; number <= healthyEndpoints; number += 1) {
      await addEndpoint(stage, { url: `${receiver.url}/${number}` });
    }
    const other = await addEndpoint(stage, { url: `${receiver.url}/other` });
    await deliver(stage, receiver.url, eventsPerSecond);
    const post = await repeatedPost(service, receiver.url, other.secret);
    await post(concurrency);
    const before = await readStatementCount(service);
    const measure = async (title: string): Promise<Row> => {
      const delivered: Rate[] = [];
      const posted: Rate[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        delivered.push(await deliver(stage, receiver.url, events));
        posted.push(await post(healthyEndpoints * events));
        say(
          `round ${round}: ${title}: ${Math.round(perSecond(delivered))}/s, naked ${Math.round(perSecond(posted))}/s`,
        );
      }
      const [servicePerSecond, nakedPerSecond] = [perSecond(delivered), perSecond(posted)];
      return { title, servicePerSecond, p50: null, p99: null, nakedPerSecond, refusals: null };
    };
    const healthy = await measure('deliveries to 49 endpoints');
    const statements = (await readStatementCount(service)) - before;
    const sent = (healthyEndpoints + 1) * events * rounds;
    await change(service, other.id, { url: `${receiver.url}/hang` });
    const rows = [healthy, await measure('the same while a fiftieth does not respond')];
    const title = 'statements per delivery, under load';
    return { rows, figures: [{ title, service: statements / sent, naked: null, digits: 2 }] };
  } finally {
    await db.$disconnect();
    await receiver.stop(5_000);
  }
}

async function change(service: ServicePipeline, endpointId: string, body: unknown): Promise<void> {
  await call(service, `/v1/webhook-endpoints/${endpointId}`, { method: 'PATCH', body });
}

/** Records events, and measures their deliveries from the first that arrives to the last. */
async function deliver(stage: EndpointStage, receiverUrl: string, events: number): Promise<Rate> {
  await fetch(receiverUrl, { method: 'DELETE' });
  await recordRefunds(stage, events);
  const expected = healthyEndpoints * events;
  const { count, firstAt, lastAt } = await waitFor(
    `${expected} deliveries`,
    async () => {
      const counted = (await (await fetch(receiverUrl)).json()) as Counted;
      return counted.count >= expected ? counted : null;
    },
    { timeoutMs: 900_000, intervalMs: 200 },
  );
  return { count, ms: lastAt - firstAt };
}

/** @returns sends a real event as a signed webhook, that many times. */
async function repeatedPost(
  service: ServicePipeline,
  url: string,
  secret: string,
): Promise<(count: number) => Promise<Rate>> {
  const [event] = (await call(service, '/v1/events?limit=1')) as [{ id: string }];
  const body = JSON.stringify(event);
  const now = new Date();
  const headers = {
    'content-type': 'application/json',
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(event.id, now, body),
  };
  return async (count) => {
    let left = count;
    const startedAt = performance.now();
    const loop = async () => {
      while (left-- > 0) {
        const response = await request(url, { method: 'POST', headers, body });
        await response.body.dump();
      }
    };
    await Promise.all(Array.from({ length: concurrency }, loop));
    return { count, ms: performance.now() - startedAt };
  };
}

function perSecond(rates: readonly Rate[]): number {
  const total = (field: keyof Rate) => rates.reduce((sum, rate) => sum + rate[field], 0);
  return (total('count') / total('ms')) * 1000;
}
