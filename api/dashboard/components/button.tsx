import type { ComponentChildren } from 'preact';
import { useAddress } from '../http/access.ts';
import { useRequest } from '../http/render.ts';

interface ButtonProps {
  kind?: 'primary' | 'danger' | undefined;
  /** Keys that click it while nothing is typed, separated by spaces. The first one is shown. */
  shortcut?: string | undefined;
  children: ComponentChildren;
}

interface SubmitProps extends ButtonProps {
  name?: string;
  value?: string;
  formAction?: string;
}

/** A button that sends its form. */
export function Submit({ kind, shortcut, children, ...attributes }: SubmitProps) {
  return (
    <button
      type="submit"
      class={classOf(kind)}
      data-kind={kind}
      aria-keyshortcuts={useShortcut(shortcut)}
      {...attributes}
    >
      {children}
      <Key shortcut={shortcut} />
    </button>
  );
}

interface LinkProps {
  /** An address, or a path below the environment. */
  to: string;
  class?: string;
  title?: string;
  'aria-current'?: 'true' | 'page' | undefined;
  /** The id of the form that has its boxes checked by the link. */
  'data-select'?: string;
  children: ComponentChildren;
}

/** A link to a page of the dashboard. */
export function Link({ to, ...attributes }: LinkProps) {
  return <a href={useAddress(to)} {...attributes} />;
}

/** A link that looks like a button. */
export function ButtonLink({ to, kind, id, shortcut, children }: ButtonProps & { to: string; id?: string }) {
  return (
    <a
      class={classOf(kind)}
      data-kind={kind}
      id={id}
      href={useAddress(to)}
      aria-keyshortcuts={useShortcut(shortcut)}
    >
      {children}
      <Key shortcut={shortcut} />
    </a>
  );
}

/** The keys of a button, unless the user has turned single keys off. */
export function useShortcut(shortcut: string | undefined): string | undefined {
  return useRequest().visitor?.user.singleKeys === false ? undefined : shortcut;
}

/** The key of a button; screen readers have it from the button itself. */
export function Key({ shortcut: given }: Pick<ButtonProps, 'shortcut'>) {
  const shortcut = useShortcut(given);
  if (shortcut === undefined) return null;
  return (
    <span aria-hidden="true">
      {' '}
      <kbd>{shortcut.split(' ')[0]}</kbd>
    </span>
  );
}

/** The kit fills a button unless it is outlined. */
export function classOf(kind: ButtonProps['kind']): string {
  return kind === 'primary' ? 'button' : 'button outline';
}

interface SwitchProps {
  /** For screen readers. */
  label: string;
  links: readonly { to: string; text: string; isCurrent: boolean }[];
}

/** Links of which one is the current page. */
export function Switch({ label, links }: SwitchProps) {
  return (
    <nav class="switch" aria-label={label}>
      {links.map(({ to, text, isCurrent }) => (
        <Link key={to} to={to} aria-current={isCurrent ? 'true' : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
