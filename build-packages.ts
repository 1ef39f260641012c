import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { rolldown } from 'rolldown';

// `npm run client:pack` and `npm run mcp:pack` build what is installed elsewhere: packages without dependencies, in dist/client and
// dist/mcp. Arguments: client or mcp, and the folder to build into.

const root = import.meta.dirname;
const { version, license, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The client for CommonJS, an ES module of its exports, and the types. An error is so of one class, however it is imported. */
async function buildClient(folder: string): Promise<void> {
  // Not minified: Node prints the line that threw an uncaught error, and the names of classes and functions.
  const { exports } = await bundle('shared/client/index.ts', join(folder, 'index.js'), { format: 'cjs' });
  writeFileSync(join(folder, 'index.mjs'), `export { ${exports.join(', ')} } from './index.js';\n`);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = ['-p', 'tsconfig.client.json', '--outDir', folder];
  execFileSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' });
  writeFileSync(join(folder, 'index.d.mts'), `export * from './index.js';\n`);
  writePackage(folder, {
    name: 'refund-service-client',
    description: 'The typed client of refund-service.',
    type: 'commonjs',
    main: './index.js',
    types: './index.d.ts',
    exports: {
      '.': {
        import: { types: './index.d.mts', default: './index.mjs' },
        require: { types: './index.d.ts', default: './index.js' },
      },
    },
    sideEffects: false,
  });
}

/** The program that MCP clients start, with all that it needs in one file. */
async function buildMcp(folder: string): Promise<void> {
  const options = { format: 'esm', minify: true } as const;
  const { moduleIds } = await bundle('api/mcp/stdio-main.ts', join(folder, 'main.js'), options);
  writePackage(folder, {
    name: 'refund-service-mcp',
    description: 'The tools of refund-service for agents, on stdio.',
    type: 'module',
    bin: './main.js',
    imports: { '#package.json': './package.json' },
  });
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licensesOf(moduleIds));
}

/** Bundles a program or library with everything but Node's own modules. */
async function bundle(input: string, file: string, options: { format: 'cjs' | 'esm'; minify?: true }) {
  const bundled = await rolldown({ input, cwd: root, platform: 'node', external: /^node:/ });
  const { output } = await bundled.write({ file, ...options, codeSplitting: false });
  await bundled.close();
  return output[0];
}

function writePackage(folder: string, content: object): void {
  const shared = { version, license, engines };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...content, ...shared }, null, 2)}\n`);
  writeFileSync(join(folder, 'LICENSE'), readFileSync(join(root, 'LICENSE')));
}

/** The licenses of the packages that modules are from. */
function licensesOf(moduleIds: readonly string[]): string {
  const packages = moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
  return [...new Set(packages)]
    .toSorted()
    .map((folder) => {
      const name = relative(join(root, 'node_modules'), folder);
      const file = ['LICENSE', 'LICENSE.md', 'license', 'license.md'].find((each) =>
        existsSync(join(folder, each)),
      );
      if (file === undefined) throw new Error(`${name} has no license file.`);
      return `${name}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    })
    .join('\n---\n\n');
}

const builders = { client: buildClient, mcp: buildMcp };
const [name = '', target = join('dist', name)] = process.argv.slice(2);
const build = builders[name as keyof typeof builders];
if (build === undefined) throw new Error(`Name a package: ${Object.keys(builders).join(', ')}.`);
const folder = resolve(root, target);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
await build(folder);
