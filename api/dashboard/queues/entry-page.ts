/**
 * The Content-Security-Policy of the board. All of it comes from this host. The one style that its scripts put into the
 * page, the colors of a logo, is always the same text and is known by its hash.
 */
export const boardContentSecurityPolicy = [
  "default-src 'self'",
  "style-src 'self' 'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page of the board without what its policy refuses: fonts of another host, which would be told who looks at the
 * board and when, and the inline styles of what is shown until the scripts have loaded.
 */
export function selfContained(html: string): string {
  return html
    .replaceAll(/<link [^>]*href="https?:[^>]*>/g, '')
    .replace(/<div id="root">.*<\/div>/s, '<div id="root"></div>');
}
