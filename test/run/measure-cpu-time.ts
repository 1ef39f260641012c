import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** What a test file and the processes that it ended took, in seconds of CPU. */
    cpuSeconds?: number;
  }
}

// Before each test file, which is imported afterwards.
const before = cpuSeconds();
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures the hook needs.
afterAll(({}, file) => {
  file.meta.cpuSeconds = cpuSeconds() - before;
});

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000 + cpuSecondsOfEndedChildren();
}

/** Of processes that have ended; 0 where the system does not tell. */
function cpuSecondsOfEndedChildren(): number {
  const ticksPerSecond = 100;
  try {
    // The name of the program, in parentheses, may have blanks. Of what follows, the 14th and 15th are these times.
    const [, fields = ''] = /\) (.*)/.exec(readFileSync('/proc/self/stat', 'utf8')) ?? [];
    const [user = 0, system = 0] = fields.split(' ').slice(13, 15).map(Number);
    return (user + system) / ticksPerSecond;
  } catch {
    return 0;
  }
}
