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
