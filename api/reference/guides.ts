import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lexer, type Token, type Tokens } from 'marked';

/** The pages of `docs/` that users of the API need, in the order of the reference. */
const names = [
  'api',
  'test-payments',
  'cancelling',
  'refund-timing',
  'batches',
  'events',
  'webhooks',
  'errors',
  'client',
  'agents',
  'compatibility',
];

/** `docs/` is beside `api/`, also once compiled. */
const folder = join(import.meta.dirname, '..', '..', 'docs');

/** The guides as one text in Markdown, each with its title as a heading of the second level. */
export function readGuides(): string {
  const pages = names.map((name) => ({
    name,
    tokens: lexer(readFileSync(join(folder, `${name}.md`), 'utf8')),
  }));
  const titles = new Map(pages.map(({ name, tokens }) => [name, titleOf(tokens)]));
  return pages
    .map(({ name, tokens }) => tokens.map((token) => shown(token, name, titles)).join(''))
    .join('\n\n');
}

function titleOf(tokens: readonly Token[]): string {
  const title = tokens.find((token): token is Tokens.Heading => token.type === 'heading');
  if (title === undefined) throw new Error('A guide has no title.');
  return title.text;
}

/** A part of a guide, one level deeper. Links to guides lead to their place in the reference; links to other files are their text. */
function shown({ type, raw }: Token, name: string, titles: ReadonlyMap<string, string>): string {
  if (type === 'code') return raw;
  const linked = raw.replaceAll(
    /\[([^\]]+)\]\((?!https?:)([\w./-]*?)(?:\.md)?(?:#([\w-]+))?\)/g,
    (_, text: string, page: string, section: string | undefined) => {
      const title = titles.get(page === '' ? name : page);
      return title === undefined ? text : `[${text}](#description/${section ?? addressOf(title)})`;
    },
  );
  return type === 'heading' ? `#${linked}` : linked;
}

/** The address of a heading in the reference, which has letters, digits, blanks, `-` and `_` alone. */
function addressOf(heading: string): string {
  return heading.toLowerCase().replaceAll(' ', '-');
}
