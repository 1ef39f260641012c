import { onTestFinished, vi } from 'vitest';
import { processorKind } from '#shared/processors/registry.ts';

/** Until the end of the test, credentials without an address are used at the sandbox instead of the processor's own address. */
export function ownAddressAt(sandboxUrl: string, processor = 'stripe'): void {
  const kind = processorKind(processor);
  const connect = kind.connect.bind(kind);
  const spy = vi
    .spyOn(kind, 'connect')
    .mockImplementation((credentials, ...others) =>
      connect({ ...(credentials as object), apiBase: sandboxUrl }, ...others),
    );
  onTestFinished(() => spy.mockRestore());
}
