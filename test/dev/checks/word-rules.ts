import { parseSync, Visitor } from 'oxc-parser';

/** Words that no page of the docs and no text of the UI uses, as the source of a pattern, and what to write instead. */
const refused: Readonly<Record<string, string>> = {
  'mend(s|ed|ing|able)?': 'fix',
  'somebody|anybody': 'the role (an operator, the customer), or someone',
  'nobody|no person': 'no one, or say who may',
  'who(so)?ever': 'the role, or anyone who',
  'strangers?': 'unknown, or not signed in',
  'in vain|fruitless(ly)?': 'without a result',
  '(is|are|was|were|be|been) told(?! apart)': 'gets, sees or is notified',
  'let(s|ting)? (it |them |this )?stand': 'keep or dismiss',
  '(become|becomes|became) of': 'the outcome of',
  '(need|needs|needing) (a person|somebody|someone)': 'needs attention',
  '(ask|asks|wait for|waits for) a person': 'awaiting approval, or needs attention',
  'waits for approval': 'awaiting approval',
  '(come|comes|came) back by itself': 'recovers automatically',
  'there is no such': 'not found',
};

const rules = Object.entries(refused).map(([words, instead]) => ({
  // Text is wrapped, so a space of the pattern is any white space.
  pattern: new RegExp(`\\b(${words.replaceAll(' ', '\\s+')})\\b`, 'gi'),
  instead,
}));

/** The refused words of a file: a line each, with its place and what to write instead. */
export function findRefusedWords(file: string, text: string): string[] {
  const passages = file.endsWith('.md') ? [{ start: 0, text: withoutCode(text) }] : textsOf(file, text);
  return passages.flatMap((passage) =>
    rules.flatMap(({ pattern, instead }) =>
      [...passage.text.matchAll(pattern)].map(({ 0: words, index }) => {
        const line = text.slice(0, passage.start + index).split('\n').length;
        return `${file}:${line}: "${words.replaceAll(/\s+/g, ' ')}": write ${instead}`;
      }),
    ),
  );
}

/** Markdown with its code blanked out, so that positions stay. */
function withoutCode(markdown: string): string {
  return markdown.replaceAll(/```.*?```|`[^`\n]*`/gs, (code) => code.replaceAll(/[^\n]/g, ' '));
}

/** The texts of a source file that people may read: strings, templates and JSX; no comments, no imported files. */
function textsOf(file: string, source: string): { start: number; text: string }[] {
  const texts: { start: number; text: string }[] = [];
  const add = ({ start, end }: { start: number; end: number }) =>
    texts.push({ start, text: source.slice(start, end) });
  new Visitor({
    JSXText: add,
    TemplateElement: add,
    Literal(node) {
      if (typeof node.value === 'string' && !node.value.startsWith('.')) add(node);
    },
  }).visit(parseSync(file, source).program);
  return texts;
}
