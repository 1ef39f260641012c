import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxControl } from '../../sandbox/clients.ts';
import type { Random } from '../../support/random.ts';
import { type Addresses, acceptedIdOf, type ClientLog, runClient } from './client.ts';
import { type Order, planOrder } from './orders.ts';

export interface LoadOptions {
  addresses: Addresses;
  control: SandboxControl;
  random: Random;
  /** Makes clients give up. */
  signal: AbortSignal;
}

/** The mean; an order asks for two or three refunds. */
const pauseBetweenOrdersMs = 300;

/** Orders that are open at once, also in an outage. */
const mostOpenOrders = 40;

/** Orders come in until enough refunds are accepted. */
export class Load {
  /** What each client sent and was answered. */
  readonly logs: ClientLog[] = [];
  readonly #options: LoadOptions;
  readonly #open = new Set<Promise<void>>();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** How many refunds were accepted, as far as their clients know. */
  get acceptedCount(): number {
    return this.logs.filter((log) => acceptedIdOf(log) !== null).length;
  }

  /**
   * Places orders until enough refunds are accepted or the signal aborts. Some clients may still be waiting then.
   * @param onOrder called for each order.
   */
  async run(refunds: number, onOrder: () => void): Promise<void> {
    const { random, signal } = this.#options;
    for (let number = 1; this.acceptedCount < refunds && !signal.aborted; number += 1) {
      const done = this.#handle(planOrder(random, number)).finally(() => this.#open.delete(done));
      this.#open.add(done);
      onOrder();
      await sleep(random.between(0, 2 * pauseBetweenOrdersMs));
      while (this.#open.size >= mostOpenOrders) await Promise.race(this.#open);
    }
  }

  /** Resolves when every client has its answer or has given up. */
  async concluded(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  async #handle({ payment, settleAfterMs, creations }: Order): Promise<void> {
    const { addresses, control, signal } = this.#options;
    if (payment !== null) await control.transaction(payment);
    const clients = creations.map((creation) => {
      const log = { creation, answers: { creation: [], cancel: [], read: [] }, isConcluded: false };
      this.logs.push(log);
      return runClient({ addresses, log, signal });
    });
    if (payment !== null && settleAfterMs !== null) {
      await sleep(settleAfterMs);
      await settleUnlessVoided(control, String(payment.id));
    }
    await Promise.all(clients);
  }
}

/** The sandbox refuses to settle a sale that was voided meanwhile. */
async function settleUnlessVoided(control: SandboxControl, id: string): Promise<void> {
  await control.changeTransaction(id, { status: 'settled' }).catch((error: Error) => {
    if (!error.message.includes('a void is final')) throw error;
  });
}
