import { setTimeout as sleep } from 'node:timers/promises';
import { type Exit, type StartedProcess, startProcess } from '../support/processes/child-process.ts';
import { type Kept, keepRunning } from '../support/processes/keep-running.ts';
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
export type KeptProgram = Kept<StartedProcess> & { name: string };

export interface KeepOptions {
  /** Takes each line that the program writes, prefixed, and messages about its restarts. */
  say: (line: string) => void;
  /** Called when it runs again, with a new process id. */
  onRestart: () => void;
}

/** Starts a program and restarts it whenever it ends. */
export async function keepProgram(
  { name, entry, args, env, showsOutput }: Program,
  { say, onRestart }: KeepOptions,
): Promise<KeptProgram> {
  const start = async () =>
    startProcess(entry, {
      ...{ args, env, keepsStdout: showsOutput, isDetached: true },
      openOutput: () =>
        splitLines((line) => {
          for (const text of readable(line)) say(`${prefixOf(name)}${text}`);
        }),
    });
  const onExit = ({ code, signal }: Exit) =>
    say(`${prefixOf('dev')}${name} ended (${signal ?? `exit code ${code}`}). Restarting.`);
  const onFailure = (error: Error) => say(`${prefixOf('dev')}${error.message}`);
  return { name, ...(await keepRunning<Exit, StartedProcess>({ start, onExit, onFailure, onRestart })) };
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
