import type { ListedRefund, Processor, RefundWindow } from '../../../shared/processors/contract/processor.ts';

/**
 * Every refund that a processor lists for a window, and on how many pages.
 * @throws Error when it cannot be brought to its end.
 */
export async function listAll(
  processor: Pick<Processor, 'listRefunds'>,
  window: RefundWindow,
): Promise<{ refunds: ListedRefund[]; pageCount: number }> {
  const options = { timeoutMs: 5_000 };
  const refunds: ListedRefund[] = [];
  let answer = await processor.listRefunds(window, options);
  for (let pageCount = 1; ; pageCount += 1) {
    if (answer.kind !== 'found') throw new Error(`${answer.kind}: ${answer.failure.message}`);
    refunds.push(...answer.value.refunds);
    if (answer.value.next === null) return { refunds, pageCount };
    answer = await answer.value.next(options);
  }
}

/** The span of so many minutes around now. */
export function windowAroundNow(minutes: number): RefundWindow {
  const now = Date.now();
  return { from: new Date(now - minutes * 60_000), to: new Date(now + minutes * 60_000) };
}
