import { onTestFinished, vi } from 'vitest';
import type { TestService } from './service.ts';

/** Counts of the calls that read refunds from processors. */
export interface WatchedReadings {
  /** How often a refund was read, by its id at the processor. */
  countOf(externalRefundId: string | null): number;
  /** The largest number of concurrent calls for one refund. */
  most(): number;
}

/** Counts how the workers of this process read refunds, until the end of the test. */
export function watchReadings({ deps }: TestService): WatchedReadings {
  const { connections } = deps;
  const connect = connections.connect.bind(connections);
  const counts = new Map<string, number>();
  const running = new Map<string, number>();
  let most = 0;
  const spy = vi.spyOn(connections, 'connect').mockImplementation(async (account) => {
    const processor = await connect(account);
    return {
      ...processor,
      async getRefund(id, ...rest) {
        counts.set(id, (counts.get(id) ?? 0) + 1);
        running.set(id, (running.get(id) ?? 0) + 1);
        most = Math.max(most, running.get(id) ?? 0);
        try {
          return await processor.getRefund(id, ...rest);
        } finally {
          running.set(id, (running.get(id) ?? 0) - 1);
        }
      },
    };
  });
  onTestFinished(() => spy.mockRestore());
  return {
    countOf: (externalRefundId) => counts.get(externalRefundId ?? '') ?? 0,
    most: () => most,
  };
}
