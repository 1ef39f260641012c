import { existsSync } from 'node:fs';
import path from 'node:path';

/** A line for each link to a file or a heading that does not exist. @param pages Markdown files by their paths. */
export function linkProblems(pages: ReadonlyMap<string, string>): string[] {
  return [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)/g)].flatMap(([link, to = '', heading = '']) => {
      const target = to === '' ? page : path.join(path.dirname(page), to);
      const isFound = existsSync(target) && (heading === '' || hasHeading(pages.get(target) ?? '', heading));
      return isFound ? [] : [`${page}: nothing is at ${link}`];
    }),
  );
}

function hasHeading(text: string, name: string): boolean {
  return [...text.matchAll(/^#+ (.+)$/gm)].some(
    ([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-') === name,
  );
}
