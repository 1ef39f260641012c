import {
  type Exit,
  type StartedProcess,
  type StartOptions,
  startProcess,
} from '../processes/child-process.ts';

/** A process or a store that a test can end, freeze and start again. Its address and its data stay the same. */
export interface Breakable {
  start(): Promise<void>;
  /** Asks it to end, and waits until it has. */
  stop(): Promise<unknown>;
  /** Ends it as a crash or a power cut does. */
  kill(): Promise<unknown>;
  /** Suspends it: connections stay open, and nothing is answered. */
  freeze(): void;
  thaw(): void;
}

export interface Program extends StartOptions {
  name: string;
  /** Path below the project's root, of a compiled file or of one in TypeScript. */
  entry: string;
  /** Resolves when the process works. */
  isReady: (process: StartedProcess) => Promise<unknown>;
}

/** An API or a worker, which runs once it is constructed. */
export class ServiceProcess implements Breakable {
  readonly name: string;
  /** How it ended each time that no test had asked for it. */
  readonly unexpectedExits: string[] = [];
  readonly #program: Program;
  #current: StartedProcess;
  #endsOnPurpose = false;

  constructor(program: Program) {
    this.name = program.name;
    this.#program = program;
    this.#current = this.#launch();
  }

  get pid(): number {
    return this.#current.pid;
  }

  output(): string {
    return this.#current.output();
  }

  waitForUrl(url: string): Promise<Response> {
    return this.#current.waitForUrl(url);
  }

  async ready(): Promise<void> {
    await this.#program.isReady(this.#current);
  }

  /** Starts it again, without waiting until it is ready. */
  async start(): Promise<void> {
    this.#endsOnPurpose = false;
    this.#current = this.#launch();
  }

  stop(): Promise<Exit> {
    this.#endsOnPurpose = true;
    return this.#current.stop();
  }

  kill(): Promise<Exit> {
    this.#endsOnPurpose = true;
    return this.#current.kill9();
  }

  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  #launch(): StartedProcess {
    const { name, entry } = this.#program;
    const started = startProcess(entry, this.#program);
    void started.exited.then(({ code, signal }) => {
      if (this.#endsOnPurpose) return;
      const lastLines = started.output().trimEnd().split('\n').slice(-5).join('\n');
      this.unexpectedExits.push(`${name} ended unexpectedly (${signal ?? code}):\n${lastLines}`);
    });
    return started;
  }
}
