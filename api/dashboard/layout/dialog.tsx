import type { ComponentChildren } from 'preact';
import { CsrfField } from './form.tsx';

export interface ConfirmProps {
  id: string;
  /** The label of both buttons: the one that opens the dialog and the one that confirms. */
  action: string;
  title: string;
  kind: 'primary' | 'danger';
  /** The address of the form. */
  to: string;
  csrfToken: string;
  /** Opens it at once, to show an error. */
  isOpen?: boolean;
  /** The explanation, and further fields. */
  children: ComponentChildren;
}

/** A button with a confirmation dialog, which works without scripts. */
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
              Cancel
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
