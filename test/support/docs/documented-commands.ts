import { readdirSync, readFileSync } from 'node:fs';
import { lexer, type Token, walkTokens } from 'marked';
import { type Command, forEachChild, parse, type SyntaxNode } from 'unbash';

/** A command of a page, as a shell reads it. Variables stay as they are written: `$API/v1/refunds`. */
export interface DocumentedCommand {
  page: string;
  /** The script that it is a part of. */
  script: string;
  program: string;
  args: string[];
}

/** What readers can paste from a page. */
export interface DocumentedPage {
  page: string;
  commands: DocumentedCommand[];
  /** Where a shell cannot read it. */
  errors: string[];
  /** Variables in its commands that no command of the page sets, and no text of it names. */
  unknownVariables: string[];
}

/** The README and the documentation. */
export function readDocumentedPages(): DocumentedPage[] {
  const files = readdirSync('docs', { recursive: true, encoding: 'utf8' }).toSorted();
  const docs = files.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  const pages = ['README.md', 'CONTRIBUTING.md', ...docs];
  return pages.map((page) => readPage(page, readFileSync(page, 'utf8')));
}

function readPage(page: string, markdown: string): DocumentedPage {
  const read: DocumentedPage = { page, commands: [], errors: [], unknownVariables: [] };
  const [used, named] = [new Set<string>(), new Set<string>()];
  walkTokens(lexer(markdown), (token) => {
    const script = scriptOf(token);
    if (script !== null) readScript(script, read, used, named);
    else if (token.type === 'codespan')
      for (const [name] of token.text.matchAll(/[A-Z_]{2,}/g)) named.add(name);
  });
  return { ...read, unknownVariables: [...used].filter((name) => !named.has(name)) };
}

const command = /^(?:[A-Z_]+=\S+ )*(?:npm|npx|node|curl|docker) /;

/** Blocks of a shell, and every other code that begins as a command. Placeholders such as `<id>` become words. */
function scriptOf(token: Token): string | null {
  if (token.type !== 'code' && token.type !== 'codespan') return null;
  const language: string = (token.type === 'code' && token.lang) || '';
  if (language !== 'sh' && (language !== '' || !command.test(token.text))) return null;
  return token.text.replaceAll(/<([a-z. ]+)>/g, (_: string, name: string) => name.replaceAll(' ', '-'));
}

function readScript(script: string, page: DocumentedPage, used: Set<string>, named: Set<string>): void {
  /** The beginnings of commands, by the names of the functions that pass their arguments on. */
  const functions = new Map<string, string[]>();
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Assignment') named.add(node.name);
    if (node.type === 'For') named.add(node.name.value);
    if (node.type === 'SimpleExpansion') used.add(node.text.slice(1));
    if (node.type === 'ParameterExpansion') used.add(node.parameter);
    if (node.type === 'Function') functions.set(node.name.value, passedOn(node));
    if (node.type === 'Command' && node.name !== undefined) {
      const [name = '', ...rest] = wordsOf(node);
      const [program = '', ...args] = [...(functions.get(name) ?? [name]), ...rest];
      // The body of a function is read where it is called.
      if (args.at(-1) !== '$@') page.commands.push({ page: page.page, script, program, args });
    }
    forEachChild(node, visit);
  };
  const parsed = parse(script);
  page.errors.push(...(parsed.errors ?? []).map(({ message }) => `${message} in ${script}`));
  visit(parsed);
}

function wordsOf({ name, args }: Command): string[] {
  const words = args.map((one) => (one.type === 'Word' ? one.value : one.text));
  return name === undefined ? words : [name.value, ...words];
}

/** What the first command of a function that passes all arguments on begins with; of another function, its own name. */
function passedOn(declared: SyntaxNode & { type: 'Function' }): string[] {
  let beginning = [declared.name.value];
  const visit = (node: SyntaxNode): void => {
    const words = node.type === 'Command' ? wordsOf(node) : [];
    if (words.at(-1) === '$@') beginning = words.slice(0, -1);
    forEachChild(node, visit);
  };
  visit(declared.body);
  return beginning;
}
