import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { importProblems, workProblems } from './import-rules.ts';

// Run by `npm run check`: exits with 1 and a line for each import, and each write of refund_work, that breaks a rule.

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
const files = listed.split('\n').filter((file) => /\.tsx?$/.test(file));
const functions = listed.split('\n').filter((file) => file.startsWith('prisma/functions/'));
const problems = [
  ...importProblems(new Map(files.map((file) => [file, importsOf(file)]))),
  ...workProblems(new Map([...files, ...functions].map((file) => [file, readFileSync(file, 'utf8')]))),
];
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${files.length} files, ${problems.length} that break a rule\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
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
