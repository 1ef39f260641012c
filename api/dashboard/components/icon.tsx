import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The icons in use, by their names in `@primer/octicons`. */
const names = [
  ...(['home', 'undo', 'checklist', 'alert', 'law', 'pulse', 'gear', 'person', 'search', 'book'] as const),
  ...(['three-bars', 'key', 'plug', 'inbox', 'credit-card', 'webhook', 'history', 'x-circle'] as const),
  ...(['arrow-switch', 'rows', 'copy', 'people'] as const),
];

export type IconName = (typeof names)[number];

const { resolve } = createRequire(import.meta.url);
const shapes = new Map(
  names.map((name) => {
    const svg = readFileSync(resolve(`@primer/octicons/build/svg/${name}-16.svg`), 'utf8');
    return [name, [...svg.matchAll(/ d="([^"]+)"/g)].map(([, path = '']) => path)];
  }),
);

/** A picture beside words that say the same; screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      {shapes.get(name)?.map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}

/** The mark of the service. */
export function Mark() {
  return (
    <svg class="mark" width="24" height="24" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <path d={markPath} fill="none" stroke="var(--card)" stroke-width="3" stroke-linecap="round" />
    </svg>
  );
}

const markPath = 'M9.5 17.5a7 7 0 1 0 2-6l-2.5 2.6M9 8.5v5.6h5.6';
