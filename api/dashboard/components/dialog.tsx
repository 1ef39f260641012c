import type { ComponentChildren } from 'preact';
import { useAddress } from '../http/access.ts';
import { classOf, Key, Submit, useShortcut } from './button.tsx';
import { CsrfField, FormNotice, HiddenFields, useSubmitted } from './form.tsx';
import { EntriesProvider } from './inputs.tsx';

export interface ConfirmProps {
  id: string;
  /** The label of both buttons: the one that opens the dialog and the one that confirms. */
  action: string;
  title: string;
  kind?: 'primary' | 'danger';
  /** The key that opens it. */
  shortcut?: string | undefined;
  /** Where the form is posted, below the environment. The dialog opens with its problems when it is refused. */
  to: string;
  /** Sent as they are. */
  values?: Readonly<Record<string, string>>;
  /** The id of its form, for inputs outside of it. */
  formId?: string;
  /** The explanation, and further fields. */
  children: ComponentChildren;
}

/** A button with a confirmation dialog, which works without scripts. */
export function Confirm(props: ConfirmProps) {
  const { id, action, title, kind, shortcut, to, values = {}, formId, children } = props;
  const submitted = useSubmitted(to);
  const entries = submitted ?? { body: {}, problems: {} };
  return (
    <>
      <button
        type="button"
        class={classOf(kind)}
        data-kind={kind}
        aria-keyshortcuts={useShortcut(shortcut)}
        {...{ command: 'show-modal', commandfor: id }}
      >
        {action}
        <Key shortcut={shortcut} />
      </button>
      <dialog id={id} aria-labelledby={`${id}-title`} open={submitted !== null}>
        <form id={formId} method="post" action={useAddress(to)} class="stack">
          <h2 id={`${id}-title`}>{title}</h2>
          <FormNotice problem={entries.problems.form} />
          <EntriesProvider value={entries}>{children}</EntriesProvider>
          <HiddenFields values={values} />
          <CsrfField />
          <div class="row">
            <Submit kind={kind ?? 'primary'}>{action}</Submit>
            <button type="button" class="button outline" {...{ command: 'close', commandfor: id }}>
              Cancel
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
