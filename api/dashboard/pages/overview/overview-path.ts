import type { Context } from '../../http/access.ts';

/** The overview of a number of days. @param currency whose money it shows per day; the commonest one for null. */
export function overviewPath(
  { base }: Pick<Context, 'base'>,
  { days, currency }: { days: number; currency: string | null },
): string {
  return `${base}?${new URLSearchParams({ days: String(days), ...(currency === null ? {} : { currency }) })}`;
}
