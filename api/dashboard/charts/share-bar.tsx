export interface ShareBarProps {
  /** Shares from 0 to 1, colored by the style sheet. Screen readers skip the bar: show the numbers beside it. */
  parts: readonly { name: string; share: number }[];
}

/** A bar divided into shares, as SVG. */
export function ShareBar({ parts }: ShareBarProps) {
  const starts = parts.map((_, index) => parts.slice(0, index).reduce((sum, { share }) => sum + share, 0));
  return (
    <svg class="chart share-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      {parts.map(({ name, share }, index) => (
        <rect key={name} data-series={name} x={100 * (starts[index] ?? 0)} width={100 * share} height="4" />
      ))}
    </svg>
  );
}
