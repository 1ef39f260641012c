import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReaper } from '../support/processes/reaper.ts';
import { readable, splitLines } from './log-lines.ts';

/** One of the processes that make up the service. */
export interface Program {
  /** Stands before each line it writes. */
  name: string;
  /** Path below the project's root. */
  entry: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  /** False for a program that has nothing to tell but its errors. */
  showsOutput: boolean;
}

/** A program that runs, or is about to be started again. */
export interface KeptProgram {
  name: string;
  /** The newest process of it. */
  pid(): number;
  /** How often it has ended so far without having been told to. */
  exits(): number;
  /** Ends it for good: SIGTERM, and SIGKILL when it has not ended after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

export interface KeepOptions {
  /** Takes each line that the program writes, prefixed, and what there is to tell about the program itself. */
  say: (line: string) => void;
  /** Called when it runs again under a new process id. */
  onRestart: () => void;
}

const firstPauseMs = 200;
const longestPauseMs = 10_000;

/** Who ran for this long has recovered; its next end is met with a short pause again. */
const ranWellMs = 10_000;

const projectRoot = resolve(import.meta.dirname, '..', '..');

/** Starts a program, and again whenever it ends, after a pause that grows while it keeps ending soon. */
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
      say(`${prefixOf('dev')}${program.name} has ended (${how}) and is started again`);
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
  /** Says how it ended. */
  exited: Promise<string>;
}

function launch({ name, entry, args, env, showsOutput }: Program, say: (line: string) => void): Launched {
  const child = spawn(process.execPath, ['--import', 'tsx', resolve(projectRoot, entry), ...args], {
    cwd: projectRoot,
    env,
    stdio: ['ignore', showsOutput ? 'pipe' : 'ignore', 'pipe'],
    // In a process group of its own: Ctrl-C reaches us alone, and we end everything in its order.
    detached: true,
  });
  // Ends the process when we are killed and cannot do it.
  const reaper = child.pid === undefined ? null : startReaper(child.pid, 'KILL', null);
  for (const stream of [child.stdout, child.stderr]) {
    const tell = splitLines((line) => {
      for (const text of readable(line)) say(`${prefixOf(name)}${text}`);
    });
    stream?.setEncoding('utf8').on('data', tell);
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

/** Puts the names of the programs in a column. */
export function prefixOf(name: string): string {
  return `${name.padEnd(7)} | `;
}
