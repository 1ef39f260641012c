import { parse } from 'bowser';

/**
 * A browser as people call it, `Safari on iOS`, from what it says of itself.
 * @returns null when that is nothing that anybody knows.
 */
export function browserName(userAgent: string): string | null {
  if (userAgent === '') return null;
  const { browser, os } = parse(userAgent);
  const known = [browser.name, os.name].filter((name) => name !== undefined && name !== '');
  return known.length === 0 ? null : known.join(' on ');
}
