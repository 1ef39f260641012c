import { setTimeout as sleep } from 'node:timers/promises';
import { RefundClient } from '#shared/client/index.ts';
import type { SandboxControl } from '../../sandbox/clients.ts';
import { PROCESSORS, type ProcessorName } from '../../sandbox/processors.ts';
import { type WaitOptions, waitFor } from '../wait-for.ts';

export interface SteadyLoad {
  count(): number;
  /** Waits until so many refunds have been accepted. */
  until(count: number): Promise<unknown>;
  /**
   * Creates no more, and waits until every refund has completed.
   * @returns what clients were answered, and what moved at the processors, a line for each refund, sorted.
   */
  end(): Promise<{ accepted: string[]; moved: string[] }>;
  /** Requests that a client had to repeat, although a process had taken the connection: why. */
  disturbances: readonly string[];
  /** Repeats every request. @returns the numbers of those that got another refund than before. */
  repeat(): Promise<number[]>;
}

interface LoadOptions {
  /** Of API processes; the next is tried when one refuses the connection, as a load balancer does. */
  urls: readonly string[];
  control: SandboxControl;
  key: string;
  pauseMs: number;
}

interface Order {
  number: number;
  transactionId: string;
  amount: number;
  id: string;
}

const patient: WaitOptions = { timeoutMs: 2 * 60_000, intervalMs: 250 };

/** Requests that are open at once. */
const mostOpen = 10;

/** Creates a refund of a new payment after each pause, and repeats each request until it has an answer. */
export function startSteadyLoad({ urls, control, key, pauseMs }: LoadOptions): SteadyLoad {
  const orders: Order[] = [];
  const disturbances: string[] = [];
  let isEnding = false;
  const { refunds } = new RefundClient({
    ...{ baseUrl: urls[0] ?? '', apiKey: key, timeoutMs: 20_000, maxRetries: 30 },
    fetch: balanced(urls, disturbances),
  });
  const send = async ({ number, transactionId, amount }: Omit<Order, 'id'>): Promise<string> => {
    const body = { transactionId, amount, reason: 'other', processor: processorOf(number) } as const;
    return (await refunds.create(body, { idempotencyKey: `order-${number}` })).id;
  };
  const create = async (number: number) => {
    const payment = { processor: processorOf(number), amount: 10_000, currency: 'usd' };
    const transactionId = await control.transaction(payment);
    const order = { number, transactionId, amount: 1_000 + number };
    orders.push({ ...order, id: await send(order) });
  };
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const creating = (async () => {
    const underWay = new Set<Promise<void>>();
    for (let number = 0; !isEnding; number += 1) {
      const creation = create(number).catch(fail);
      underWay.add(creation);
      void creation.then(() => underWay.delete(creation));
      await sleep(pauseMs);
      // A slow machine gets less to do, instead of requests that it has to refuse.
      while (underWay.size >= mostOpen) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  })();
  return {
    disturbances,
    count: () => orders.length,
    until: (count) =>
      Promise.race([
        failed,
        waitFor(`${count} refunds to be accepted`, () => orders.length >= count, patient),
      ]),
    async end() {
      isEnding = true;
      await Promise.race([failed, creating]);
      for (const { id } of orders) {
        const isCompleted = async () => (await refunds.get(id)).status === 'completed';
        await waitFor(`${id} to complete`, isCompleted, patient);
      }
      const moved = (await Promise.all(PROCESSORS.map((processor) => control.refunds({ processor })))).flat();
      return { accepted: linesOf(orders), moved: linesOf(moved) };
    },
    async repeat() {
      const ids = await Promise.all(orders.map(send));
      return orders.filter(({ id }, index) => id !== ids[index]).map(({ number }) => number);
    },
  };
}

function processorOf(number: number): ProcessorName {
  return PROCESSORS[number % PROCESSORS.length] as ProcessorName;
}

/** Sends each request to the first of the APIs, in turn, that takes the connection. */
function balanced(urls: readonly string[], disturbances: string[]): typeof fetch {
  let sent = 0;
  return async (input, init) => {
    const { pathname } = new URL(String(input));
    // A connection for each request: none is closed while a request is on its way.
    const headers = new Headers(init?.headers);
    headers.set('connection', 'close');
    sent += 1;
    for (let tries = 1; ; tries += 1) {
      try {
        const answer = await fetch(`${urls[(sent + tries) % urls.length]}${pathname}`, { ...init, headers });
        if (answer.status >= 500) disturbances.push(`${answer.status} ${await answer.clone().text()}`);
        return answer;
      } catch (error) {
        const { message, cause } = error as { message: string; cause?: { code?: string; syscall?: string } };
        // Also while the port is being closed, when it is reset instead of refused.
        const isMade = cause?.syscall !== 'connect';
        if (isMade) disturbances.push(cause?.code ?? message);
        if (isMade || tries === urls.length) throw error;
      }
    }
  };
}

function linesOf(refunds: readonly { transactionId: string; amount: number }[]): string[] {
  return refunds.map(({ transactionId, amount }) => `${transactionId} ${amount}`).sort();
}
