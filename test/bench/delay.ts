import { setTimeout as sleep } from 'node:timers/promises';
import type { Pipeline } from './pipelines.ts';
import { respondAsync } from './requests.ts';
import { registerPayment } from './sandbox-process.ts';
import { createRefund } from './single-requests.ts';

/** One refund at a time, with nothing else to do. */
const pauseMs = 50;
const warmUp = 5;
const payment = 'ch_delay';

/**
 * Measures how long refunds take from the request to the processor's acceptance, by the processor's clock, which is this
 * machine's and counts whole milliseconds. The sandbox accepts as soon as it has read the request, so nothing of it is the
 * processor's own time.
 * @returns milliseconds, one entry per refund.
 */
export async function measureDelays(pipeline: Pipeline, count: number): Promise<number[]> {
  const { control } = pipeline.sandbox;
  await registerPayment(control, payment);
  const sentAt = new Map<string, number>();
  for (let n = 0; n < count + warmUp; n += 1) {
    const now = Date.now();
    const id = await createRefund(pipeline, payment, respondAsync);
    if (n >= warmUp) sentAt.set(id, now);
    await sleep(pauseMs);
  }
  const moved = await control.refunds({ processor: 'stripe', transactionId: payment });
  return moved.flatMap(({ key, createdAt }) => {
    const sent = sentAt.get(key);
    return sent === undefined ? [] : [Date.parse(createdAt) - sent];
  });
}
