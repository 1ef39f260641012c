import type { Dependencies } from '#shared/dependencies.ts';
import type { OpenSpan } from '#shared/platform/telemetry/telemetry.ts';
import { aroundCalls } from '#shared/processors/contract/calls.ts';
import type { Processor } from '#shared/processors/contract/processor.ts';
import type { RecordedStep } from '#shared/refunds/lifecycle/record.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';

/** Records how long a claimed refund was due before a worker claimed it: the time in the queue. */
export function recordWait({ telemetry }: Pick<Dependencies, 'telemetry'>, claim: Claim): void {
  const { refund, step, work, now, since } = claim;
  const { dueAt } = work;
  if (dueAt === null) return;
  telemetry.refund(refund.id).record({
    name: 'wait for a worker',
    kind: 'consumer',
    attributes: { 'refund.id': refund.id, 'refund.processor': refund.processor, 'refund.step': step },
    // Until the claim in the database's time, then in the time of this process.
    lastedMs: Math.max(0, now.getTime() - dueAt.getTime()) + (performance.now() - since),
  });
}

/** Takes a step as a span of its refund's trace. */
export async function inStepSpan<Result>(
  { telemetry }: Pick<Dependencies, 'telemetry'>,
  { refund, step, work }: Claim,
  take: (span: OpenSpan) => Promise<Result>,
): Promise<Result> {
  return await telemetry.refund(refund.id).run(`step ${step}`, async (span) => {
    span.set({
      'refund.id': refund.id,
      'refund.processor': refund.processor,
      'refund.step': step,
      'refund.attempt': work.attemptNumber,
    });
    return await take(span);
  });
}

/** Sets what came of a step: the types of the events that were recorded, or why nothing was. */
export function setOutcome(span: OpenSpan, { result, types }: RecordedStep): void {
  const isRecorded = result === 'recorded' || result === 'due';
  const recorded = types.join(' ') || 'unchanged';
  span.set({ 'refund.outcome': isRecorded ? recorded : result });
}

/** The same processor with every call recorded as a span below the one of its step. */
export function withCallSpans(processor: Processor, name: string, span: OpenSpan): Processor {
  return aroundCalls(processor, async (call, operation) => {
    const since = performance.now();
    const answer = await call();
    span.record({
      name: `${name} ${operation}`,
      kind: 'client',
      attributes: {
        'processor.name': name,
        'processor.operation': operation,
        'processor.outcome': answer.kind,
        'error.type': 'failure' in answer ? answer.failure.code : null,
      },
      lastedMs: performance.now() - since,
      hasFailed: failures.has(answer.kind),
    });
    return answer;
  });
}

/** Answers that say nothing about the refund. */
const failures: ReadonlySet<string> = new Set(['unavailable', 'unknown', 'misconfigured']);
