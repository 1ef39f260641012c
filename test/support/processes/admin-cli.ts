import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import { runCommand } from '#api/cli/run-command.ts';
import type { TestService } from '../service.ts';

/** The exit code and output of a command. */
export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs one administration command. */
export type AdminCli = (args: readonly string[], input?: string) => Promise<CliResult>;

/** Settings of a command; undefined removes a variable. */
export type CliSettings = Record<string, string | undefined>;

const root = resolve(import.meta.dirname, '..', '..', '..');

/** Runs the compiled command line, one process for each command. A command that hangs is killed, and its code is null. */
export function adminProcess(settings: CliSettings): AdminCli {
  return async (args, input = '') => {
    const child = spawn(process.execPath, [join(inject('compiledFolder'), 'api/cli/main.js'), ...args], {
      cwd: root,
      env: { ...process.env, REDIS_URL: undefined, ...settings },
      timeout: 300_000,
      killSignal: 'SIGKILL',
    });
    const ended = new Promise<number | null>((settle) => child.once('close', settle));
    // A command that reads no input may end before it is written.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { code, stdout, stderr };
  };
}

/** Runs commands in this process, one after the other, which takes a tenth of the time. */
export function adminCli(settings: CliSettings): AdminCli {
  return (args, input = '') => {
    const running = lastCommand.then(() => runHere(settings, args, input));
    lastCommand = running.catch(() => undefined);
    return running;
  };
}

let lastCommand: Promise<unknown> = Promise.resolve();

async function runHere(settings: CliSettings, args: readonly string[], input: string): Promise<CliResult> {
  const { env, exitCode } = process;
  const output = { stdout: '', stderr: '' };
  const streams = { stdin: process.stdin, stdout: process.stdout.write, stderr: process.stderr.write };
  const keep = (name: keyof typeof output) => (chunk: string | Uint8Array) => {
    output[name] += chunk;
    return true;
  };
  try {
    process.env = { ...env, REDIS_URL: undefined, ...settings };
    Object.defineProperty(process, 'stdin', { value: Readable.from([input]), configurable: true });
    process.stdout.write = keep('stdout');
    process.stderr.write = keep('stderr');
    return { code: await runCommand(['node', 'admin', ...args]), ...output };
  } finally {
    process.env = env;
    process.exitCode = exitCode;
    Object.defineProperty(process, 'stdin', { value: streams.stdin, configurable: true });
    process.stdout.write = streams.stdout;
    process.stderr.write = streams.stderr;
  }
}

/** The settings of a command for a test's service. */
export function cliSettings({ settings }: TestService): CliSettings {
  const { DATABASE_URL, ENCRYPTION_KEY, QUEUE_PREFIX } = settings;
  return {
    ...{ DATABASE_URL, ENCRYPTION_KEY, QUEUE_PREFIX },
    DATABASE_CONNECT_TIMEOUT_MS: String(settings.DATABASE_CONNECT_TIMEOUT_MS),
    DATABASE_STATEMENT_TIMEOUT_MS: String(settings.DATABASE_STATEMENT_TIMEOUT_MS),
  };
}

/** The command line for a test's service, in this process. */
export function adminCliOf(service: TestService): AdminCli {
  return (args, input) => adminCli(cliSettings(service))(args, input);
}

/** The same as the owner of the database. */
export function ownerCliOf(service: TestService): AdminCli {
  return (args, input) =>
    adminCli({ ...cliSettings(service), DATABASE_URL: service.databaseUrl })(args, input);
}

/** The only line of a text. */
export function onlyLine(output: string): string {
  const [line = '', ...rest] = output.split('\n');
  if (line === '' || rest.join('') !== '') throw new Error(`Not exactly one line: ${JSON.stringify(output)}`);
  return line;
}
