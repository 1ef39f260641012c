import { dashboardPath } from './paths.ts';

/** Stands for this host, whatever its name: what does not resolve to it leads elsewhere. */
const thisHost = 'http://dashboard.invalid';

/**
 * Where somebody goes after signing in: the path and query that were asked for when they are a page of the dashboard, else
 * the dashboard. They may come from somebody else's link, so nothing is gone to that a browser could take for another host.
 */
export function ownAddress(asked: string | undefined): string {
  if (asked === undefined || !asked.startsWith('/') || hasUnsafeCharacter(asked)) return dashboardPath;
  if (!URL.canParse(asked, thisHost)) return dashboardPath;
  const { origin, pathname, search } = new URL(asked, thisHost);
  const isOwn = pathname === dashboardPath || pathname.startsWith(`${dashboardPath}/`);
  const isSignIn = pathname.startsWith(`${dashboardPath}/sign-`);
  if (origin !== thisHost || !isOwn || isSignIn || pathname.includes('//')) return dashboardPath;
  return `${pathname}${search}`;
}

/** Browsers read a backslash as a slash, and leave out tabs and line breaks. */
function hasUnsafeCharacter(address: string): boolean {
  return /[\\\p{Cc}]/u.test(address);
}

/** Where somebody goes after signing in who looks at this page. @param page its whole address, as the browser says it. */
export function ownAddressOfPage(page: string | undefined): string {
  if (page === undefined || !URL.canParse(page)) return dashboardPath;
  const { pathname, search } = new URL(page);
  return ownAddress(`${pathname}${search}`);
}
