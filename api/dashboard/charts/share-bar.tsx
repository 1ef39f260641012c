export interface ShareBarProps {
  /** Colored by the style sheet; shares from 0 to 1, of one whole. The numbers have to stand beside the picture in words. */
  parts: readonly { name: string; share: number }[];
}

/** One bar that is divided as a whole is, drawn here: the browser gets a finished picture. */
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
