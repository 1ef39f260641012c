import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxControl } from '../../sandbox/clients.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
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
  /** Of API processes; the next is tried when one refuses the connection or has no answer, as a load balancer does. */
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

interface RefundAnswer {
  id: string;
  status: string;
}

const patient: WaitOptions = { timeoutMs: 2 * 60_000, intervalMs: 250 };

/** Requests that are open at once. */
const mostOpen = 10;

/** Creates a refund of a new payment after each pause, and repeats each request until it has an answer. */
export function startSteadyLoad({ urls, control, key, pauseMs }: LoadOptions): SteadyLoad {
  const orders: Order[] = [];
  const disturbances: string[] = [];
  let isEnding = false;

  /** Null without an answer. */
  const callOne = async (
    url: string,
    init: RequestInit,
  ): Promise<RefundAnswer | 'refused' | Error | null> => {
    // A connection for each request: none is closed while a request is on its way.
    const headers = { authorization: `Bearer ${key}`, connection: 'close', ...init.headers };
    try {
      const answer = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(20_000) });
      const body = await answer.text();
      if (answer.ok) return JSON.parse(body).data;
      if (answer.status < 500) return new Error(`${url} was refused: ${answer.status} ${body}`);
      disturbances.push(`${answer.status} ${body}`);
      return null;
    } catch (error) {
      const { message, cause } = error as { message: string; cause?: { code?: string } };
      if (cause?.code === 'ECONNREFUSED') return 'refused';
      disturbances.push(cause?.code ?? message);
      return null;
    }
  };
  const call = async (path: string, first: number, init: RequestInit = {}): Promise<RefundAnswer> => {
    const answer = await waitFor(
      `an answer of ${path}`,
      async () => {
        for (let index = 0; index < urls.length; index += 1) {
          const found = await callOne(`${urls[(first + index) % urls.length]}${path}`, init);
          if (found !== 'refused') return found;
        }
        return null;
      },
      patient,
    );
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const send = ({ number, transactionId, amount }: Omit<Order, 'id'>): Promise<RefundAnswer> =>
    call('/v1/refunds', number, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `order-${number}` },
      body: JSON.stringify({ transactionId, amount, reason: 'other', processor: processorOf(number) }),
    });
  const create = async (number: number) => {
    const transactionId = await control.transaction({
      processor: processorOf(number),
      amount: 10_000,
      currency: 'usd',
    });
    const order = { number, transactionId, amount: 1_000 + number };
    orders.push({ ...order, id: (await send(order)).id });
  };
  const { failed, fail } = openFailure();
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

  const untilCompleted = ({ number, id }: Order) =>
    waitFor(
      `${id} to complete`,
      async () => (await call(`/v1/refunds/${id}`, number)).status === 'completed',
      patient,
    );
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
      for (const order of orders) await untilCompleted(order);
      const moved = (await Promise.all(PROCESSORS.map((processor) => control.refunds({ processor })))).flat();
      return { accepted: linesOf(orders), moved: linesOf(moved) };
    },
    async repeat() {
      const answers = await Promise.all(orders.map(async (order) => ({ order, again: await send(order) })));
      return answers.filter(({ order, again }) => again.id !== order.id).map(({ order }) => order.number);
    },
  };
}

function processorOf(number: number): string {
  return PROCESSORS[number % PROCESSORS.length] ?? '';
}

/** The first failure, for whoever waits. */
function openFailure(): { failed: Promise<never>; fail: (error: Error) => void } {
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  return { failed, fail };
}

function linesOf(refunds: readonly { transactionId: string; amount: number }[]): string[] {
  return refunds.map(({ transactionId, amount }) => `${transactionId} ${amount}`).sort();
}
