import type { ComponentChildren } from 'preact';

export interface LiveProps {
  id: string;
  /** Where the newest state of this part is had, with this element around it. */
  from: string;
  /** The pause between two readings; null when nothing changes any more by itself. */
  everySeconds: number | null;
  children: ComponentChildren;
}

/** What a part that refreshes itself needs so that it stays when the service is not to be asked for a moment. */
export const keptWhenRefused = { 'hx-status:5xx': 'swap:none', 'hx-status:429': 'swap:none' };

/**
 * A part of a page that keeps itself up to date. What has not changed stays as it is, the focus included, and when the
 * service cannot be asked for a moment, what is shown stays.
 */
export function Live({ id, from, everySeconds, children }: LiveProps) {
  if (everySeconds === null) return <div id={id}>{children}</div>;
  return (
    <div
      id={id}
      hx-get={from}
      hx-trigger={`every ${everySeconds}s`}
      hx-swap="outerMorph"
      {...keptWhenRefused}
    >
      {children}
    </div>
  );
}
