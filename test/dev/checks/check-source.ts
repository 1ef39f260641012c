import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { importProblems, workProblems } from './import-rules.ts';
import { linkProblems } from './link-rules.ts';
import { migrationProblems } from './migration-rules.ts';
import { findRefusedWords } from './word-rules.ts';

// Run by `npm run check`: exits with 1 and a line for each import, each write of refund_work and each statement of a migration that
// breaks a rule, for each word that the docs or the UI should not use, and for each link of the docs that leads nowhere.

const worded = /^(README|CONTRIBUTING|CHANGELOG)\.md$|^docs\/.*\.md$|^api\/(dashboard|cli)\/.*\.tsx?$/;

/** Every migration but the first, which creates everything. */
const migration = /^prisma\/migrations\/\d+_(?!initial\/).*\.sql$/;

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
const texts = new Map(
  [...new Set(listed.split('\n'))]
    .filter(
      (file) =>
        /\.(tsx?|md)$|^prisma\/functions\//.test(file) || [worded, migration].some((each) => each.test(file)),
    )
    .map((file) => [file, readFileSync(file, 'utf8')]),
);
const sources = [...texts].filter(([file]) => /\.tsx?$/.test(file));
const problems = [
  ...importProblems(new Map(sources.map(([file, text]) => [file, importsOf(file, text)]))),
  ...workProblems(new Map([...texts].filter(([file]) => !file.endsWith('.md') && !migration.test(file)))),
  ...[...texts].flatMap(([file, text]) => (migration.test(file) ? migrationProblems(file, text) : [])),
  ...[...texts].flatMap(([file, text]) => (worded.test(file) ? findRefusedWords(file, text) : [])),
  ...linkProblems(new Map([...texts].filter(([file]) => file.endsWith('.md')))),
];
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(
  `${texts.size} files, ${problems.length} problems of imports, migrations, words and links\n`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

function importsOf(file: string, text: string): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(file, text).module;
  const names = [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
  return names.map((name) =>
    name.startsWith('.') ? path.join(path.dirname(file), name) : name.replace(/^#/, ''),
  );
}
