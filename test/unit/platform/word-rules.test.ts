import { expect, test } from 'vitest';
import { findRefusedWords } from '../../dev/checks/word-rules.ts';

test('finds a refused word in a page, across lines and with its line number', () => {
  const page = '# Title\n\nThe refund needs a\nperson.\n';
  expect(findRefusedWords('docs/page.md', page)).toEqual([
    'docs/page.md:3: "needs a person": write needs attention',
  ]);
});

test('ignores code in a page', () => {
  expect(findRefusedWords('docs/page.md', 'Run `mend`:\n\n```sh\nmend --all\n```\n')).toEqual([]);
});

test.each([
  ['text between tags', '<p>Something has to be mended first.</p>'],
  ['an attribute', '<Field label="Invite somebody" />'],
  ['a string', "'Whoever opens the link joins.'"],
  ['a template', '`Nobody has approved it.`'],
])('finds a refused word of the UI in %s', (_place, expression) => {
  expect(findRefusedWords('page.tsx', `export const view = ${expression};`)).toHaveLength(1);
});

test('ignores comments, names and imported files of the UI', () => {
  const source =
    "import { mendable } from './mend.ts';\n// Somebody reads this.\nexport const view = mendable();\n";
  expect(findRefusedWords('page.tsx', source)).toEqual([]);
});
