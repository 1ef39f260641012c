import type { ComponentChildren } from 'preact';
import { CopyButton } from './values.tsx';

interface ShownOnceProps {
  title: string;
  text: string;
  /** What is copied, for screen readers. */
  label: string;
  children: ComponentChildren;
}

/**
 * A secret with a copy button. It responds to the form that made it, because a secret must not be in the address of a
 * redirect; with scripts only a part of the page is replaced, so that a reload does not send the form again.
 */
export function ShownOnce({ title, text, label, children }: ShownOnceProps) {
  return (
    <section class="card stack" role="status">
      <h2>{title}</h2>
      <p class="secret">
        <code>{text}</code>
        <CopyButton text={text} label={label} />
      </p>
      {children}
    </section>
  );
}
