import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type StartedProcess,
  type StartOptions,
  startProcess,
} from '../../support/processes/child-process.ts';

export interface Program extends StartOptions {
  name: string;
  /** Path below the project's root, of a compiled file or of one in TypeScript. */
  entry: string;
  /** Resolves when the process works. */
  ready: (process: StartedProcess) => Promise<unknown>;
  /** Takes what its processes wrote, when each of them has ended. */
  logFile: string;
}

const restartPauseMs = 500;

/** A program that is started again whenever its process has ended. */
export class SupervisedProcess {
  readonly name: string;
  /** What it died of when nobody had asked for that. */
  readonly unexpectedExits: string[] = [];
  readonly #program: Program;
  #current: StartedProcess;
  #pauseMs: number | null = null;
  /** True from the end of a process to the start of the next one. */
  #isDown = false;
  #stopped = false;
  readonly #kept: Promise<void>;

  constructor(program: Program) {
    this.name = program.name;
    this.#program = program;
    this.#current = startProcess(program.entry, program);
    this.#kept = this.#keep();
  }

  /** Waits until the process of the moment works. */
  async ready(): Promise<void> {
    for (;;) {
      while (this.#isDown) await sleep(20);
      const process = this.#current;
      try {
        await this.#program.ready(process);
        return;
      } catch (error) {
        if (process === this.#current) throw error;
      }
    }
  }

  /** Ends it as a crash does, or asks it to end; it is started again after a pause. */
  async end(signal: 'SIGKILL' | 'SIGTERM', restartAfterMs: number): Promise<void> {
    this.#pauseMs = restartAfterMs;
    const ending = this.#current;
    if (signal === 'SIGKILL') await ending.kill9();
    else await ending.stop();
    while (this.#current === ending && !this.#stopped) await sleep(20);
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    process.kill(this.#current.pid, signal);
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#current.stop();
    await this.#kept;
  }

  async #keep(): Promise<void> {
    for (;;) {
      const ended = this.#current;
      const { code, signal } = await ended.exited;
      this.#isDown = true;
      appendFileSync(this.#program.logFile, ended.output());
      if (this.#stopped) return;
      if (this.#pauseMs === null) {
        this.unexpectedExits.push(
          `${this.name} ended by itself (${signal ?? code}):\n${tail(ended.output())}`,
        );
      }
      await sleep(this.#pauseMs ?? restartPauseMs);
      this.#pauseMs = null;
      if (this.#stopped) return;
      this.#current = startProcess(this.#program.entry, this.#program);
      this.#isDown = false;
    }
  }
}

function tail(output: string): string {
  return output.trimEnd().split('\n').slice(-5).join('\n');
}
