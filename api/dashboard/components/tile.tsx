import type { ComponentChildren } from 'preact';
import { Link } from './button.tsx';

interface TileProps {
  name: string;
  value: string;
  /** Where the number comes from; null for one that no page lists. */
  to: string | null;
  /** Such as the change since the period before. */
  children?: ComponentChildren;
}

/** A number that leads to what it counts. */
export function Tile({ name, value, to, children }: TileProps) {
  const content = (
    <>
      <span class="muted small">{name}</span>
      <span class="tile-value">{value}</span>
      <span class="muted small">{children}</span>
    </>
  );
  return to === null ? (
    <div class="card tile">{content}</div>
  ) : (
    <Link class="card tile" to={to}>
      {content}
    </Link>
  );
}
