import { afterAll, beforeAll } from 'vitest';
import { registerProcessor } from '#shared/processors/registry.ts';
import { eventpayKind } from './kind.ts';

/** Gives a test file a third processor. Call it before the hooks that start a service. */
export function useEventpay(): void {
  let remove: () => void;
  beforeAll(() => {
    remove = registerProcessor(eventpayKind);
  });
  afterAll(() => remove());
}
