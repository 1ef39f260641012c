import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { settingNames } from '#shared/platform/config.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = resolve(root, 'docs/operations/systemd');

test('the units run programs of the service, with its settings and with credentials that they load', () => {
  const text = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(resolve(folder, file)).isFile())
    .map((file) => readFileSync(resolve(folder, file), 'utf8'))
    .join('\n');
  const all = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);

  const programs = all(/^ExecStart=\/usr\/bin\/node dist\/(\S+)\.js$/gm);
  expect(programs.toSorted()).toEqual(['api/main', 'prisma/migrate-main', 'worker/main']);
  expect(programs.filter((program) => !existsSync(resolve(root, `${program}.ts`)))).toEqual([]);

  const variables = all(/^Environment=(.*)$/gm).flatMap((line) => line.split(' '));
  const names = variables.map((variable) => variable.split('=')[0]);
  const known = ['NODE_OPTIONS', ...settingNames, ...settingNames.map((name) => `${name}_FILE`)];
  expect(known).toEqual(expect.arrayContaining(names));
  const used = variables.flatMap((variable) => /%d\/(\w+)$/.exec(variable)?.[1] ?? []);
  expect(all(/^LoadCredential=(\w+):/gm).toSorted()).toEqual(used.toSorted());
});
