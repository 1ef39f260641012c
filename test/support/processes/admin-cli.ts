import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { TestService } from '../service.ts';

/** The exit code and output of a command. */
export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs one administration command. */
export type AdminCli = (args: readonly string[], input?: string) => Promise<CliResult>;

const root = resolve(import.meta.dirname, '..', '..', '..');

/**
 * Runs the compiled command line, one process for each command. A command that hangs is killed, and its code is null.
 * @param env the settings; undefined removes a variable.
 */
export function adminCli(env: Record<string, string | undefined>): AdminCli {
  return async (args, input = '') => {
    const child = spawn(process.execPath, [join(inject('compiledFolder'), 'api/cli/main.js'), ...args], {
      cwd: root,
      env: { ...process.env, REDIS_URL: undefined, ...env },
      timeout: 40_000,
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

/** The command line for a test's service. */
export function adminCliOf(service: TestService): AdminCli {
  return (args, input) => {
    const { DATABASE_URL, ENCRYPTION_KEY, QUEUE_PREFIX } = service.settings;
    return adminCli({ DATABASE_URL, ENCRYPTION_KEY, QUEUE_PREFIX })(args, input);
  };
}

/** The only line of a text. */
export function onlyLine(output: string): string {
  const [line = '', ...rest] = output.split('\n');
  if (line === '' || rest.join('') !== '') throw new Error(`Not exactly one line: ${JSON.stringify(output)}`);
  return line;
}
