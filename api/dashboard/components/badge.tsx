import type { RefundStatus } from '#shared/refunds/model/states.ts';

/** The meaning of a state: done, in progress, needs attention, failed, inactive. */
export type Tone = 'good' | 'wait' | 'warn' | 'bad' | 'quiet';

/** A state as a word; the color only repeats it. */
export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span class="badge" data-tone={tone}>
      {children}
    </span>
  );
}

const statusTones: Record<RefundStatus, Tone> = {
  pending: 'warn',
  processing: 'wait',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
};

/** The labels of refund statuses. */
export const statusWords: Record<RefundStatus, string> = {
  pending: 'Awaiting approval',
  processing: 'Processing',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export function StatusBadge({ status }: { status: RefundStatus }) {
  return <Badge tone={statusTones[status]}>{statusWords[status]}</Badge>;
}
