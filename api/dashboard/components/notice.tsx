import type { ComponentChildren } from 'preact';
import type { Tone } from './badge.tsx';
import { Icon, type IconName } from './icon.tsx';

/** A highlighted message. */
export function Notice({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <div class="notice" data-tone={tone} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

interface EmptyProps {
  title: string;
  icon?: IconName;
  children: ComponentChildren;
}

/** An empty state: why it is empty, and the next step. */
export function Empty({ title, icon = 'inbox', children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
