import type { Operation } from './faults.ts';
import { randomId } from './random-id.ts';

/** A request that the processor carries out itself once a reviewer has approved it. */
export interface HeldRequest {
  id: string;
  processor: string;
  operation: Operation | null;
  /** All ids of the payment. */
  transactionIds: readonly string[];
}

/** Requests that await a reviewer at the processor. They are kept in memory only: a restart lets them lapse. */
export class Approvals {
  readonly #held = new Map<string, { request: HeldRequest; perform: () => void }>();

  hold(request: Omit<HeldRequest, 'id'>, perform: () => void): void {
    const id = randomId('apr_', 16);
    this.#held.set(id, { request: { id, ...request }, perform });
  }

  /** Oldest first. */
  list(): HeldRequest[] {
    return [...this.#held.values()].map(({ request }) => request);
  }

  /** Carries a request out, or drops it. @returns false for an unknown id. */
  decide(id: string, isApproved: boolean): boolean {
    const held = this.#held.get(id);
    if (held === undefined) return false;
    this.#held.delete(id);
    if (isApproved) held.perform();
    return true;
  }
}
