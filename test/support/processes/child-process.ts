import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WaitOptions, waitFor } from '../wait-for.ts';

interface ProgramOptions {
  /** Added to the environment of this process; undefined removes a variable. */
  env?: Record<string, string | undefined>;
  /** A file for the output, which costs less than a pipe. */
  outputFile?: string;
  /** Opened for stdout and for stderr: takes each chunk as it comes, and nothing is kept for `output`. */
  openOutput?: () => (chunk: string) => void;
  /** False to keep its errors only. */
  keepsStdout?: boolean;
  /** True for a process group of its own, so that Ctrl-C reaches only this process, which stops it in its turn. */
  isDetached?: boolean;
  /** The account to run it as. */
  uid?: number;
  gid?: number;
  /** What ends it when this process ends; KILL by default. */
  reaperSignal?: 'INT' | 'QUIT' | 'KILL';
  /** Removed when it has ended. */
  folder?: string | null;
}

export interface StartOptions extends ProgramOptions {
  args?: string[];
  /** A file below the project's root that the process loads first. */
  preload?: string;
}

/** How a process ended: with a code, or by a signal. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface StartedProcess {
  pid: number;
  /** Its stdout and stderr so far, at most the last million characters. */
  output(): string;
  /** Resolves when the process has ended and its output is complete. */
  exited: Promise<Exit>;
  /**
   * Waits until a line of its output matches.
   * @throws Error with the output, after the timeout or the end of the process.
   */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>;
  /**
   * Waits until a URL answers with a status below 500.
   * @throws Error with the output, after the timeout or the end of the process.
   */
  waitForUrl(url: string, options?: WaitOptions): Promise<Response>;
  /** Sends SIGTERM or another signal, and SIGKILL after `graceMs` (two minutes by default). */
  stop(graceMs?: number, signal?: NodeJS.Signals): Promise<Exit>;
  /** Sends SIGKILL. */
  kill9(): Promise<Exit>;
}

/** TypeScript is compiled at the start, which takes long on a busy machine. */
const startTimeoutMs = 300_000;

/**
 * Runs a TypeScript or compiled file as a process. It ends with this process at the latest.
 * @param entry path below the project's root, such as `api/main.ts`.
 */
export function startProcess(
  entry: string,
  { args = [], preload, ...options }: StartOptions = {},
): StartedProcess {
  const loader = entry.endsWith('.ts') ? ['--import', 'tsx'] : [];
  const preloaded = preload === undefined ? [] : ['--import', resolve(root, preload)];
  // Node rather than npx or tsx, so that the process id is that of the program.
  return startProgram(
    entry,
    process.execPath,
    [...loader, ...preloaded, resolve(root, entry), ...args],
    options,
  );
}

/**
 * Runs a program. It ends with this process at the latest.
 * @param name of the program in error messages.
 */
export function startProgram(
  name: string,
  command: string,
  args: readonly string[],
  { env = {}, outputFile, openOutput, keepsStdout = true, ...options }: ProgramOptions = {},
): StartedProcess {
  const { isDetached = false, uid, gid, reaperSignal = 'KILL', folder = null } = options;
  const file = outputFile === undefined ? null : openSync(outputFile, 'a');
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', keepsStdout ? (file ?? 'pipe') : 'ignore', file ?? 'pipe'],
    detached: isDetached,
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  if (file !== null) closeSync(file);
  let output = '';
  const keep = (chunk: string) => {
    output = (output + chunk).slice(-1_000_000);
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', openOutput?.() ?? keep);
  }
  // Without a process id the start has failed, and there is nothing to end.
  const reaper = child.pid === undefined ? null : startReaper(child.pid, reaperSignal, folder);
  let exit: Exit | null = null;
  const exited = new Promise<Exit>((settle) => {
    const settleWith = (how: Exit) => {
      reaper?.kill('SIGKILL');
      if (folder !== null) rmSync(folder, { recursive: true, force: true });
      exit = how;
      settle(how);
    };
    child.once('error', (error) => {
      keep(error.message);
      settleWith({ code: null, signal: null });
    });
    child.once('close', (code, signal) => settleWith({ code, signal }));
  });
  const end = async (signal: NodeJS.Signals, graceMs: number) => {
    if (exit === null) child.kill(signal);
    const ended = await Promise.race([exited, sleep(graceMs, null, { ref: false })]);
    if (ended === null) child.kill('SIGKILL');
    return exited;
  };
  const readOutput = () => (outputFile === undefined ? output : readFileSync(outputFile, 'utf8'));
  const watch = { name, output: readOutput, exit: () => exit };
  return {
    pid: child.pid ?? -1,
    output: readOutput,
    exited,
    waitForOutput: (pattern) =>
      waitWhileRunning(watch, `output like ${pattern}`, async () => pattern.exec(readOutput())),
    waitForUrl: (url, options) =>
      waitWhileRunning(watch, `an answer of ${url}`, () => answerOf(url), options),
    stop: (graceMs = 120_000, signal = 'SIGTERM') => end(signal, graceMs),
    kill9: () => end('SIGKILL', 10_000),
  };
}

/**
 * Ends a program when this process ends. A shell reads from a pipe; when this process ends, even by kill -9, the pipe closes
 * and the shell ends the program. It must be killed once the program has ended, because process ids are reused.
 */
function startReaper(pid: number, signal: string, folder: string | null): ChildProcess {
  const shell = spawn('/bin/sh', ['-c', reaperScript, 'reaper', String(pid), signal, folder ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A separate process group, so that Ctrl-C does not end it.
    detached: true,
  });
  // Neither the shell nor the pipe keeps this process running.
  shell.unref();
  shell.on('error', () => {});
  (shell.stdin as typeof shell.stdin & { unref(): void }).unref();
  shell.stdin.on('error', () => {});
  return shell;
}

// The wait is bounded, because in a container without an init process the program stays a zombie.
const reaperScript = `
while read -r _; do :; done
kill -"$2" "$1" 2>/dev/null || true
[ -n "$3" ] || exit 0
left=30
while kill -0 "$1" 2>/dev/null && [ "$left" -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
rm -rf -- "$3"
`;

const root = resolve(import.meta.dirname, '..', '..', '..');

interface Watch {
  name: string;
  output(): string;
  exit(): Exit | null;
}

async function waitWhileRunning<T extends object>(
  { name, output, exit }: Watch,
  description: string,
  probe: () => Promise<T | null>,
  options: WaitOptions = {},
): Promise<T> {
  // Checked before the probe, so that the probe sees the last output.
  const probeOrEnd = async () => {
    const ended = exit();
    const found = await probe().catch(() => null);
    return found === null && ended === null ? null : { found };
  };
  const outcome = await waitFor(`${description} from ${name}`, probeOrEnd, {
    timeoutMs: startTimeoutMs,
    ...options,
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n--- output of ${name}:\n${output()}`);
  });
  if (outcome.found !== null) return outcome.found;
  const { code, signal } = exit() ?? { code: null, signal: null };
  throw new Error(`${name} ended (${signal ?? code}) before ${description}\n--- its output:\n${output()}`);
}

async function answerOf(url: string): Promise<Response | null> {
  const response = await fetch(url, { signal: AbortSignal.timeout(20_000) });
  return response.status < 500 ? response : null;
}
