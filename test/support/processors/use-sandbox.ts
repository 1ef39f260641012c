import { afterEach, beforeAll } from 'vitest';
import { type SandboxControl, sandboxControl } from '../../sandbox/clients.ts';
import { type RunningSandbox, startSandbox } from '../../sandbox/server.ts';
import { madeBeforeTests } from '../made-before-tests.ts';

export interface SandboxInTests {
  sandbox: RunningSandbox;
  control: SandboxControl;
}

export interface SandboxInTestsOptions {
  /** False: a refund stays open until a test drives it. */
  autoSettle?: boolean;
}

/** Gives a test file, or a `describe` block, a sandbox of its own, without faults at the start of each test. */
export function useSandbox({ autoSettle = true }: SandboxInTestsOptions = {}): SandboxInTests {
  const sandbox = madeBeforeTests(
    'The sandbox',
    () => startSandbox({ port: 0 }),
    (running) => running.close(),
  );
  const control = madeBeforeTests('The sandbox', () => sandboxControl(sandbox.url));
  if (!autoSettle) beforeAll(() => control.settings({ autoSettleMs: null }));
  afterEach(() => control.clearFaults());
  return { sandbox, control };
}
