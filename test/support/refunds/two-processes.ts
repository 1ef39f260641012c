import { afterEach, vi } from 'vitest';
import { closeDependencies, type Dependencies, openDependencies } from '#shared/dependencies.ts';
import { openLog } from '#shared/platform/log.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import type { RefundRequest } from '#shared/refunds/lifecycle/decide.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import type { TestService } from '../service.ts';
import { useService } from '../use-service.ts';
import { expectInvariants } from './invariants.ts';

/**
 * Gives a test file a service without workers, and the dependencies of a second process. None of the refunds that read a
 * payment at the same time is decided without having read it.
 */
export function useTwoProcesses(): { service: TestService; other: { deps: Dependencies } } {
  const service = useService({ workers: 0 });
  const other = madeBeforeTests(
    'The other process',
    () => ({ deps: openDependencies(service.settings, openLog(service.settings.LOG_LEVEL, 'other')) }),
    ({ deps }) => closeDependencies(deps),
  );
  afterEach(async () => {
    vi.restoreAllMocks();
    await service.sandbox.clearFaults();
    await expectInvariants(service);
  });
  return { service, other };
}

/** The status of a new refund, or the code of its error. */
export async function outcomeOf({ deps }: { deps: Dependencies }, asked: RefundRequest): Promise<string> {
  try {
    return (await createRefund(deps, asked)).refund.status;
  } catch (error) {
    return (error as { code: string }).code;
  }
}
