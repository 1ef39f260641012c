import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stripeClient } from '../../sandbox/clients.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';
import { waitFor } from '../../support/wait-for.ts';

const { sandbox, control } = useSandbox({ autoSettle: false });

let receiver: Server;
let failures = 0;
const received: (string | undefined)[] = [];

beforeAll(async () => {
  receiver = createServer((request, response) => {
    request.resume();
    if (failures > 0) {
      failures -= 1;
      response.writeHead(500).end();
      return;
    }
    received.push(request.url);
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  await control.settings({
    webhooks: (['test', 'live'] as const).map((environment) => ({
      ...{ processor: 'stripe', environment, secret: 'whsec_sandbox' },
      url: `http://127.0.0.1:${port}/${environment}`,
    })),
  });
});
afterAll(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

test.each([
  ['test', 0],
  ['live', 1],
] as const)(
  'the %s account alone receives webhooks of its refunds, after %i failures',
  async (environment, count) => {
    failures = count;
    const payment = { processor: 'stripe', environment, amount: 5_000, currency: 'usd' };
    const charge = await control.transaction(payment);
    await stripeClient(sandbox.url, `sk_${environment}_sandbox`).refunds.create({ charge });
    expect(await waitFor('a webhook', () => received.shift())).toBe(`/${environment}`);
    expect(failures).toBe(0);
    expect(received).toEqual([]);
  },
);
