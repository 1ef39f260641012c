import { existsSync, readFileSync } from 'node:fs';
import { type Command, CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { buildProgram } from '#api/cli/run-command.ts';
import { settingNames } from '#shared/platform/config.ts';
import { parseOptions } from '../../bench/options.ts';
import { type DocumentedCommand, readDocumentedPages } from '../../support/docs/documented-commands.ts';
import { requestOf, undeclaredIn } from '../../support/docs/documented-requests.ts';
import { withValues } from '../../support/docs/documented-values.ts';
import { readDocument } from '../../support/http/openapi-document.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

const pages = readDocumentedPages();
const all = pages.flatMap(({ commands }) => commands);
const of = (program: string) => all.filter((one) => one.program === program);

/** Programs that are not of this repository, by kind. Where they run ours, that part is checked. */
const elsewhere = {
  shell:
    '[ break cat cd continue cp cut date df echo export grep head od printf rm sed sh sleep tee touch tr true',
  machine: 'apt-get claude editor install jq nginx openssl python3 sha256sum systemctl',
  containers: 'docker kubectl',
  stores: 'createdb pg_basebackup pg_ctl pg_dump pg_restore psql redis-cli',
  // Functions of pages, and a program that the text around it asks for.
  pages: 'check count create read-secret',
};

/** The sandbox, the metrics of a process, Stripe and a channel. */
const otherServers =
  /^(\$SANDBOX\/|http:\/\/127\.0\.0\.1:9464\/metrics$|https:\/\/(api\.stripe|hooks\.slack)\.com\/)/;

/** Requests with which docs/api.md shows how the API refuses them, and one for the tools of agents. */
const notDeclared = ['?sort=amount', '{"amount": -5}', '/mcp'];

test('a shell can read every documented command, and a page sets the variables of its commands or names them', () => {
  expect(all.length).toBeGreaterThan(400);
  expect(pages.flatMap(({ errors }) => errors)).toEqual([]);
  // Those of every shell, and the arguments of a function.
  const known = ['PWD', '@', ...settingNames];
  const unknown = pages.flatMap(({ page, unknownVariables }) =>
    unknownVariables.filter((name) => !known.includes(name)).map((name) => `${page}: $${name}`),
  );
  expect(unknown).toEqual([]);
});

test('the program of every documented command is checked here, or listed as one from elsewhere', () => {
  const listed = Object.values(elsewhere).join(' ').split(' ');
  const known = ['npm', 'npx', 'node', 'curl', ...listed];
  expect(all.filter(({ program }) => !known.includes(program))).toEqual([]);
});

test('the command line takes every documented command of it, with its options and their values', async () => {
  const given = all.flatMap((one) => adminArgsOf(one) ?? []);
  expect(given.length).toBeGreaterThan(80);
  const problems = await Promise.all(given.map(problemOf));
  expect(problems.filter((problem) => problem !== null)).toEqual([]);
});

test('the scripts, tools and files of the repository in documented commands exist', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
  for (const { page, args } of of('npm')) {
    const [first, script = '', ...rest] = args.filter((word) => word !== '-s' && word !== '--silent');
    if (first === 'run') expect(scripts, page).toHaveProperty([script]);
    if (script === 'bench') parseOptions(rest.filter((word) => word !== '--'));
  }
  const isThere = (file: string) =>
    existsSync(file.replace('*', 'api@.service').replace(/^dist\/(.*)\.js$/, '$1.ts'));
  const files = all
    .flatMap(({ args }) => args)
    .filter((word) => /^(api|dist|docs|prisma|test|worker)\//.test(word));
  // What a reader of CONTRIBUTING.md writes.
  const missing = files.filter((file) => !isThere(file) && !file.endsWith('/list-by-completion.test.ts'));
  expect(missing).toEqual([]);
});

test('the OpenAPI document declares the path, method, headers, parameters and body of every documented request', async () => {
  const served = await readDocument(service);
  const requests = of('curl').map(({ page, args }) => ({ page, ...requestOf(args) }));
  expect(requests.filter(({ path, url }) => path === null && !otherServers.test(url))).toEqual([]);
  const toService = requests.filter(({ path }) => path !== null);
  expect(toService.length).toBeGreaterThan(50);
  const problems = toService
    .filter(({ path, body }) => !notDeclared.some((part) => path?.endsWith(part) || body === part))
    .map((request) => ({ ...request, problem: undeclaredIn(served, request) }));
  expect(problems.filter(({ problem }) => problem !== null)).toEqual([]);
});

/** What the command line gets, also of a command in a container; null for another command. */
function adminArgsOf({ page, program, args }: DocumentedCommand): { page: string; given: string[] } | null {
  const words = [program, ...args];
  const start = words.findIndex(
    (word, index) => word === 'dist/api/cli/main.js' || (word === 'admin' && words[index - 2] === 'run'),
  );
  const given = words.slice(start + 1).filter((word, index) => index > 0 || word !== '--');
  // `...` alone stands for any command.
  return start < 0 || given.join() === '...' ? null : { page, given: given.map(withValues) };
}

/** How the command line refuses a command, which is not carried out; null for one that it takes. */
async function problemOf({ page, given }: { page: string; given: string[] }): Promise<string | null> {
  const program = buildProgram();
  const disarm = (command: Command): void => {
    command.configureOutput({ writeOut: () => {}, writeErr: () => {} });
    if (command.commands.length === 0) command.action(() => {});
    command.commands.forEach(disarm);
  };
  disarm(program);
  try {
    await program.parseAsync(given, { from: 'user' });
    return null;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return null;
    return `${page}: ${given.join(' ')}: ${error}`;
  }
}
