import type { ComponentChildren } from 'preact';

interface CardProps {
  /** Of the title; unique on the page. */
  id: string;
  title: ComponentChildren;
  children: ComponentChildren;
}

/** A titled part of a page. */
export function Card({ id, title, children }: CardProps) {
  return (
    <section class="card stack" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

export type Fact = readonly [name: string, value: ComponentChildren];

/** Names with their values. A fact without a value (null) is left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  const shown = facts.filter(([, value]) => value !== null);
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
