import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxControl } from '../../sandbox/clients.ts';
import type { Random } from '../../support/random.ts';
import { runClient } from './client.ts';
import type { Deployment } from './deployment.ts';
import type { Diary } from './diary.ts';
import { type Order, planOrder } from './orders.ts';

export interface LoadOptions {
  deployment: Deployment;
  diary: Diary;
  random: Random;
  /** Makes clients give up. */
  signal: AbortSignal;
}

/** The mean; an order asks for two or three refunds. */
const pauseBetweenOrdersMs = 300;

/** Orders that are open at once; an outage must not pile up more than that. */
const mostOpenOrders = 40;

/** Orders come in until enough refunds are accepted. */
export class Load {
  readonly #options: LoadOptions;
  readonly #open = new Set<Promise<void>>();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /**
   * Lets orders come in until so many refunds are accepted, or the clients are to give up; some may still be waiting then.
   * @param onOrder is told of each order.
   */
  async run(refunds: number, onOrder: () => void): Promise<void> {
    const { diary, random, signal } = this.#options;
    for (let number = 1; diary.acceptedCount < refunds && !signal.aborted; number += 1) {
      this.#begin(planOrder(random, number));
      onOrder();
      await sleep(random.between(0, 2 * pauseBetweenOrdersMs));
      while (this.#open.size >= mostOpenOrders) await Promise.race(this.#open);
    }
  }

  /** Resolves when every client has its answer, or has given up. */
  async concluded(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  #begin(order: Order): void {
    const done = this.#handle(order).finally(() => this.#open.delete(done));
    this.#open.add(done);
  }

  async #handle({ payment, settleAfterMs, creations }: Order): Promise<void> {
    const { deployment, diary, signal } = this.#options;
    const { control } = deployment;
    if (payment !== null) await control.transaction(payment);
    const clients = creations.map((creation) =>
      runClient({ deployment, page: diary.open(creation), signal }),
    );
    if (payment !== null && settleAfterMs !== null) {
      await sleep(settleAfterMs);
      const { id, processor, environment } = payment;
      await settleUnlessVoided(control, String(id), { processor, environment });
    }
    await Promise.all(clients);
  }
}

/** A sale that was voided meanwhile stays so, and the sandbox says it. */
async function settleUnlessVoided(control: SandboxControl, id: string, scope: object): Promise<void> {
  await control.changeTransaction(id, { ...scope, status: 'settled' }).catch((error: Error) => {
    if (!error.message.includes('a void is final')) throw error;
  });
}
