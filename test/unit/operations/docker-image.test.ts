import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..', '..');
const allowed = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));

test('the image is built from files that .dockerignore lets in', () => {
  const scripts = allowed.filter((path) => path.endsWith('.ts'));
  expect(scripts).toContain('build.ts');
  for (const script of scripts) {
    const source = readFileSync(join(root, script), 'utf8');
    const imported = [...source.matchAll(/from '(\.[^']+|#[^']+)'/g)].map(([, name = '']) =>
      name.startsWith('#') ? name.slice(1) : join(dirname(script), name),
    );
    const missing = imported.filter(
      (path) => !allowed.some((one) => path === one || path.startsWith(`${one}/`)),
    );
    expect(missing, script).toEqual([]);
  }
});
