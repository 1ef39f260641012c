/** In requests per second; null for any number. */
export interface RateLimits {
  /** For each named operation of an account, such as `POST /v1/refunds`. */
  perOperation: number | null;
  /** For all requests of an account. */
  perAccount: number | null;
}

/** Why a request is refused. */
export type LimitedBy = 'global-rate' | 'endpoint-rate';

/** Counts requests by account and operation, in token buckets that hold one second's worth. */
export class Rates {
  readonly #buckets = new Map<string, { tokens: number; filledAt: number }>();

  /** Counts a request; null when it is within the limits. */
  limit(account: string, operation: string, limits: RateLimits): LimitedBy | null {
    if (!this.#take(account, limits.perAccount)) return 'global-rate';
    return this.#take(`${account} ${operation}`, limits.perOperation) ? null : 'endpoint-rate';
  }

  #take(name: string, perSecond: number | null): boolean {
    if (perSecond === null) return true;
    const now = performance.now();
    const { tokens, filledAt } = this.#buckets.get(name) ?? { tokens: perSecond, filledAt: now };
    const filled = Math.min(perSecond, tokens + ((now - filledAt) / 1000) * perSecond);
    this.#buckets.set(name, { tokens: filled >= 1 ? filled - 1 : filled, filledAt: now });
    return filled >= 1;
  }
}
