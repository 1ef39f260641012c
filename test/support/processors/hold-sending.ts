import { vi } from 'vitest';
import type { AccountName } from '#shared/processors/accounts/connections.ts';
import type { TestService } from '../service.ts';

/** Holds the calls that send a refund for some accounts, until they are released. `vi.restoreAllMocks` ends it. */
export function holdSending(
  { deps: { connections } }: Pick<TestService, 'deps'>,
  isHeld: (account: AccountName) => boolean,
) {
  const connect = connections.connect.bind(connections);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let made = 0;
  let underWay = 0;
  let mostUnderWay = 0;
  vi.spyOn(connections, 'connect').mockImplementation(async (account) => {
    const processor = await connect(account);
    if (!isHeld(account)) return processor;
    const createRefund: typeof processor.createRefund = async (...given) => {
      made += 1;
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      await released;
      return await processor.createRefund(...given).finally(() => {
        underWay -= 1;
      });
    };
    return Object.assign(Object.create(processor), { createRefund });
  });
  return {
    made: () => made,
    /** How many have not ended. */
    underWay: () => underWay,
    /** How many were under way at once, at most. */
    mostUnderWay: () => mostUnderWay,
    release,
  };
}
