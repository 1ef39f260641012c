import type { ComponentChildren } from 'preact';
import { CsrfField } from './form.tsx';

export interface ConfirmProps {
  id: string;
  /** The button that opens it, and the one that does it. */
  action: string;
  title: string;
  kind: 'primary' | 'danger';
  /** Where the form is sent. */
  to: string;
  csrfToken: string;
  /** True to show it at once, because something in it has to be mended. */
  isOpen?: boolean;
  /** What will happen, and further fields. */
  children: ComponentChildren;
}

/** A button whose act is explained and confirmed before it is carried out; the browser opens and closes the dialog by itself. */
export function Confirm({ id, action, title, kind, to, csrfToken, isOpen = false, children }: ConfirmProps) {
  return (
    <>
      <button type="button" class="button" data-kind={kind} {...{ command: 'show-modal', commandfor: id }}>
        {action}
      </button>
      <dialog id={id} aria-labelledby={`${id}-title`} open={isOpen}>
        <form method="post" action={to} class="stack">
          <h2 id={`${id}-title`}>{title}</h2>
          {children}
          <CsrfField token={csrfToken} />
          <div class="row">
            <button type="submit" class="button" data-kind={kind}>
              {action}
            </button>
            <button type="button" class="button" {...{ command: 'close', commandfor: id }}>
              Not now
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
