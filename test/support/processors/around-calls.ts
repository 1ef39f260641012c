import type { CallOptions, Processor } from '#shared/processors/contract/processor.ts';
import { replacing } from '../replacing.ts';

const processorCalls = ['getPayment', 'createRefund', 'findRefund', 'getRefund', 'cancelRefund'] as const;

/** A call about one payment or refund. */
export type ProcessorCall = (typeof processorCalls)[number];

type Around = (
  name: ProcessorCall,
  call: (changed?: CallOptions) => Promise<unknown>,
  options: CallOptions,
) => Promise<unknown>;

/** A processor each of whose calls is handed to `around`, which makes it, delays it or fails it. */
export function aroundCalls(processor: Processor, around: Around): Processor {
  const calls = processorCalls.map((name) => {
    const handed = (...given: unknown[]) => {
      const options = given.at(-1) as CallOptions;
      const call = (changed = options) =>
        Reflect.apply(processor[name], processor, [...given.slice(0, -1), changed]) as Promise<unknown>;
      return around(name, call, options);
    };
    return [name, handed];
  });
  return replacing(processor, Object.fromEntries(calls));
}
