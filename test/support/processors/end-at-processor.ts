import type { ProcessorName } from '../../sandbox/processors.ts';
import type { TestService } from '../service.ts';

const statuses = {
  stripe: { succeeded: 'succeeded', failed: 'failed' },
  braintree: { succeeded: 'settled', failed: 'settlement_declined' },
} as const;

/** Lets a refund succeed or fail at its processor, whatever it was. */
export async function endAtProcessor(
  { sandbox }: Pick<TestService, 'sandbox'>,
  { processor, externalRefundId }: { processor: string; externalRefundId: string | null },
  end: 'succeeded' | 'failed',
): Promise<void> {
  const status = statuses[processor as ProcessorName][end];
  await sandbox.driveRefund(externalRefundId ?? '', { status });
}
