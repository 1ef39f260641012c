import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';

// `npm run build` compiles the service into dist/. Arguments: another folder, and further options of the compiler.

const root = import.meta.dirname;
const [target = 'dist', ...options] = process.argv.slice(2);
const folder = resolve(root, target);

// A file that no longer has a source would be packed.
rmSync(folder, { recursive: true, force: true });
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const args = ['-p', 'tsconfig.build.json', '--outDir', folder, ...options];
execFileSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' });
for (const part of ['dashboard', 'reference']) {
  const assets = join('api', part, 'assets');
  cpSync(join(root, assets), join(folder, assets), { recursive: true });
}
// The guides of the reference are pages of the documentation.
cpSync(join(root, 'docs'), join(folder, 'docs'), {
  recursive: true,
  filter: (source) => ['', '.md'].includes(extname(source)),
});

// Node looks for what starts with # in the nearest package.json. In this one it finds the compiled files.
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const imports = { '#package.json': './package.json', '#*.ts': './*.js', '#*.tsx': './*.js' };
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify({ version, type: 'module', imports }, null, 2)}\n`,
);
