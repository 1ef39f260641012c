import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReaper } from '../support/processes/reaper.ts';
import { readable, splitLines } from './log-lines.ts';

/** One of the processes that make up the service. */
export interface Program {
  /** Prefixes each line that it writes. */
  name: string;
  /** Path below the project's root. */
  entry: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  /** False to print its errors only. */
  showsOutput: boolean;
}

/** A program that is restarted when it ends. */
export interface KeptProgram {
  name: string;
  /** Of its latest process. */
  pid(): number;
  /** How often it has ended without having been stopped. */
  exits(): number;
  /** Ends it for good: SIGTERM, and SIGKILL when it has not ended after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

export interface KeepOptions {
  /** Takes each line that the program writes, prefixed, and messages about its restarts. */
  say: (line: string) => void;
  /** Called when it runs again, with a new process id. */
  onRestart: () => void;
}

const firstPauseMs = 200;
const longestPauseMs = 10_000;

/** After running this long, a program is restarted with the first pause again. */
const ranWellMs = 10_000;

const projectRoot = resolve(import.meta.dirname, '..', '..');

/** Starts a program and restarts it whenever it ends, after a pause that grows while it keeps ending early. */
export function keepRunning(program: Program, { say, onRestart }: KeepOptions): KeptProgram {
  const stopped = new AbortController();
  let exits = 0;
  let pauseMs = firstPauseMs;
  let current = launch(program, say);

  const keep = async () => {
    for (;;) {
      const startedAt = performance.now();
      const how = await current.exited;
      if (stopped.signal.aborted) return;
      exits += 1;
      if (performance.now() - startedAt >= ranWellMs) pauseMs = firstPauseMs;
      say(`${prefixOf('dev')}${program.name} ended (${how}). Restarting.`);
      await sleep(pauseMs, null, { signal: stopped.signal }).catch(() => {});
      if (stopped.signal.aborted) return;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      current = launch(program, say);
      onRestart();
    }
  };
  const done = keep();

  return {
    name: program.name,
    pid: () => current.child.pid ?? -1,
    exits: () => exits,
    async stop(graceMs) {
      stopped.abort();
      await end(current, graceMs);
      await done;
    },
  };
}

interface Launched {
  child: ChildProcess;
  /** Resolves with the signal or exit code. */
  exited: Promise<string>;
}

function launch({ name, entry, args, env, showsOutput }: Program, say: (line: string) => void): Launched {
  const child = spawn(process.execPath, ['--import', 'tsx', resolve(projectRoot, entry), ...args], {
    cwd: projectRoot,
    env,
    stdio: ['ignore', showsOutput ? 'pipe' : 'ignore', 'pipe'],
    // A separate process group, so that Ctrl-C reaches only this process, which stops the programs in order.
    detached: true,
  });
  // Ends the program when this process is killed.
  const reaper = child.pid === undefined ? null : startReaper(child.pid, 'KILL', null);
  for (const stream of [child.stdout, child.stderr]) {
    const print = splitLines((line) => {
      for (const text of readable(line)) say(`${prefixOf(name)}${text}`);
    });
    stream?.setEncoding('utf8').on('data', print);
  }
  const exited = new Promise<string>((settle) => {
    child.once('error', (error) => settle(error.message));
    child.once('close', (code, signal) => settle(signal ?? `exit code ${code}`));
  }).finally(() => reaper?.dismiss());
  return { child, exited };
}

async function end({ child, exited }: Launched, graceMs: number): Promise<void> {
  child.kill('SIGTERM');
  const ended = await Promise.race([exited, sleep(graceMs, null, { ref: false })]);
  if (ended !== null) return;
  child.kill('SIGKILL');
  await exited;
}

/** The name of a program, padded to a column. */
export function prefixOf(name: string): string {
  return `${name.padEnd(7)} | `;
}

const timeoutMs = 60_000;

/**
 * Waits until a URL answers 200.
 * @param programs that must run meanwhile.
 * @throws StartError when a program ends or the time is over.
 */
export async function waitUntilReady(
  url: string,
  programs: KeptProgram[],
  signal: AbortSignal,
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await answers(url))) {
    signal.throwIfAborted();
    const ended = programs.find((program) => program.exits() > 0);
    if (ended !== undefined) throw new StartError(`${ended.name} did not start. See its output above.`);
    if (performance.now() > giveUpAt) throw new StartError(`${url} did not answer within a minute.`);
    await sleep(50);
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(3_000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** A reason not to start that the user can fix. It is printed without a stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
