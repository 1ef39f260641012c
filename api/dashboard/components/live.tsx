import type { ComponentChildren } from 'preact';
import { useAddress } from '../http/access.ts';

interface LiveProps {
  id: string;
  /** The address that returns this element in its present state. */
  from: string;
  /** The interval of updates; null for content that no longer changes. */
  everySeconds: number | null;
  children: ComponentChildren;
}

/** Keeps the present content when an update fails for the moment. */
export const keptWhenRefused = { 'hx-status:5xx': 'swap:none', 'hx-status:429': 'swap:none' };

/** A part of a page that updates itself. Unchanged elements and the focus are kept, also when an update fails. */
export function Live({ id, from, everySeconds, children }: LiveProps) {
  const address = useAddress(from);
  if (everySeconds === null) return <div id={id}>{children}</div>;
  return (
    <div
      id={id}
      hx-get={address}
      hx-trigger={`every ${everySeconds}s`}
      hx-swap="outerMorph"
      {...keptWhenRefused}
    >
      {children}
    </div>
  );
}
