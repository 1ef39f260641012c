import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findRefusedWords } from './word-rules.ts';

// Run by `npm run check`: exits with 1 and a line for each word that the docs or the UI should not use.

const checked = /^(README|CONTRIBUTING|CHANGELOG)\.md$|^docs\/.*\.md$|^api\/(dashboard|cli)\/.*\.tsx?$/;

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
const names = process.argv.slice(2);
const files =
  names.length > 0 ? names : [...new Set(listed.split('\n'))].filter((file) => checked.test(file));
const problems = files.flatMap((file) => findRefusedWords(file, readFileSync(file, 'utf8')));
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${files.length} files, ${problems.length} words to replace\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
