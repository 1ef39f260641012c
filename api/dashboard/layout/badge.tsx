import type { RefundStatus } from '../../../shared/refunds/model/states.ts';

/** What a state means for whoever looks: done, under way, asks for somebody, gone wrong, of no matter. */
export type Tone = 'good' | 'wait' | 'warn' | 'bad' | 'quiet';

/** One word for a state. The word alone says it; the color only repeats it. */
export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span class="badge" data-tone={tone}>
      {children}
    </span>
  );
}

/** The tone of each status of a refund. */
const statusTones: Record<RefundStatus, Tone> = {
  pending: 'warn',
  processing: 'wait',
  completed: 'good',
  failed: 'bad',
  cancelled: 'quiet',
};

/** Statuses in words for people. */
export const statusWords: Record<RefundStatus, string> = {
  pending: 'Waits for approval',
  processing: 'Processing',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export function StatusBadge({ status }: { status: RefundStatus }) {
  return <Badge tone={statusTones[status]}>{statusWords[status]}</Badge>;
}
