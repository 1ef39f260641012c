import { onTestFinished, vi } from 'vitest';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import type { CallOptions, Processor } from '#shared/processors/contract/processor.ts';
import { replacing } from '../replacing.ts';
import type { TestService } from '../service.ts';
import { waitFor } from '../wait-for.ts';

const processorCalls = ['getPayment', 'createRefund', 'findRefund', 'getRefund', 'cancelRefund'] as const;

/** A call about one payment or refund. */
export type ProcessorCall = (typeof processorCalls)[number];

type Around = (
  name: ProcessorCall,
  call: (changed?: CallOptions) => Promise<unknown>,
  options: CallOptions,
  /** What the call is about: an id or a submission. */
  about: unknown,
) => Promise<unknown>;

/** A processor each of whose calls is handed to `around`, which makes it, delays it or fails it. */
export function aroundCalls(processor: Processor, around: Around): Processor {
  const calls = processorCalls.map((name) => {
    const handed = (...given: unknown[]) => {
      const options = given.at(-1) as CallOptions;
      const call = (changed = options) =>
        Reflect.apply(processor[name], processor, [...given.slice(0, -1), changed]) as Promise<unknown>;
      return around(name, call, options, given[0]);
    };
    return [name, handed];
  });
  return replacing(processor, Object.fromEntries(calls));
}

/** Until the end of the test, hands each call of a service to a processor to `around`, which makes it or delays it. */
export function spyOnCalls(
  { deps: { connections } }: Pick<TestService, 'deps'>,
  around: (
    name: ProcessorCall,
    call: () => Promise<unknown>,
    about: unknown,
    account: AccountName,
  ) => unknown,
): void {
  const connect = connections.connect.bind(connections);
  const spy = vi
    .spyOn(connections, 'connect')
    .mockImplementation(async (account) =>
      aroundCalls(await connect(account), async (name, call, _options, about) =>
        around(name, call, about, account),
      ),
    );
  onTestFinished(() => spy.mockRestore());
}

/** Holds calls of one kind until they are released, or those for some accounts. */
export function holdCalls(
  service: Pick<TestService, 'deps'>,
  held: ProcessorCall,
  isHeld: (account: AccountName) => boolean = () => true,
) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let made = 0;
  let underWay = 0;
  let mostUnderWay = 0;
  spyOnCalls(service, async (name, call, _about, account) => {
    if (name !== held || !isHeld(account)) return await call();
    made += 1;
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    await released;
    return await call().finally(() => {
      underWay -= 1;
    });
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

/** Holds the first answer to a call of one kind from when the processor has given it until it is released. */
export function holdFirstAnswer(service: Pick<TestService, 'deps'>, held: ProcessorCall) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let calls = 0;
  let isGiven = false;
  spyOnCalls(service, async (name, call) => {
    if (name !== held || ++calls > 1) return await call();
    const answer = await call();
    isGiven = true;
    await released;
    return answer;
  });
  return { untilGiven: () => waitFor(`the answer to ${held}`, () => isGiven), release };
}
