import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..', '..', '..');

/** What the engine says of a container. */
export interface Container {
  Id: string;
  RestartCount: number;
  State: { Status: string; ExitCode: number; Health?: { Status: string } };
  HostConfig: { Memory: number };
}

/** A deployment by docker-compose.yml, in a folder and with containers of its own. */
export interface ComposeProject {
  /** Runs Compose in the folder and returns its output. @throws Error with what it printed. */
  compose(...args: string[]): Promise<string>;
  /** Runs a command in a container, and returns its output. @throws Error with what it printed. */
  exec(container: Container, command: readonly string[], input?: string): Promise<string>;
  /** The containers of a service, whether or not they run. */
  containers(service: string): Promise<Container[]>;
  /** The address at which containers reach this machine. */
  hostAddress(): Promise<string>;
}

/**
 * Prepares a folder as docs/operations/deployment.md says: docker-compose.yml, secrets/ and .env.
 * @param command Docker Compose and its first arguments.
 * @param settings of .env.
 */
export async function openComposeProject(
  command: readonly string[],
  folder: string,
  name: string,
  settings: Record<string, string>,
): Promise<ComposeProject> {
  const [program = '', ...first] = command;
  const file = join(folder, 'docker-compose.yml');
  copyFileSync(join(root, 'docker-compose.yml'), file);
  // Compose 1 refuses a name in the file.
  if (program === 'docker-compose')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^name: .*\n/m, ''));
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
  writeFileSync(join(folder, '.env'), lines.join(''));
  await run('sh', [join(root, 'docs/operations/create-secrets.sh')], { cwd: folder });
  const compose = (...args: string[]) =>
    run(program, [...first, '--project-name', name, ...args], { cwd: folder });
  return {
    compose,
    exec: ({ Id }, command, input = '') =>
      run('docker', ['exec', '--interactive', Id, ...command], { input }),
    async containers(service) {
      const labels = { project: name, service, oneoff: 'False' };
      const filters = Object.entries(labels).flatMap(([label, value]) => [
        '--filter',
        `label=com.docker.compose.${label}=${value}`,
      ]);
      const ids = (await run('docker', ['ps', '--all', '--quiet', ...filters])).split('\n').filter(Boolean);
      return ids.length === 0 ? [] : JSON.parse(await run('docker', ['inspect', ...ids]));
    },
    async hostAddress() {
      const [network] = JSON.parse(await run('docker', ['network', 'inspect', `${name}_default`]));
      return network.IPAM.Config[0].Gateway;
    },
  };
}

/** Builds the image. NODE_IMAGE of the environment replaces its base. */
export async function buildImage(name: string): Promise<void> {
  const { NODE_IMAGE } = process.env;
  const base = NODE_IMAGE === undefined ? [] : ['--build-arg', `NODE_IMAGE=${NODE_IMAGE}`];
  await run('docker', ['build', '--tag', name, ...base, root]);
}

/** @throws Error while a container uses it. */
export async function removeImage(name: string): Promise<void> {
  await run('docker', ['image', 'rm', name]);
}

interface RunOptions {
  cwd?: string;
  input?: string;
}

async function run(command: string, args: readonly string[], { cwd = root, input = '' }: RunOptions = {}) {
  const maxBuffer = 100 * 1024 * 1024;
  return await new Promise<string>((settle, reject) => {
    const child = execFile(command, args, { cwd, maxBuffer }, (error, stdout, stderr) => {
      if (error === null) settle(stdout.trim());
      else reject(new Error(`${command} ${args.join(' ')} failed (${error.code}):\n${stdout}${stderr}`));
    });
    // A command that reads no input may end before it is written.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}
