import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second. */
const msPerTick = 10;

/** The processor time that a process has used so far, in milliseconds; 0 where there is no /proc. */
export function processorMs(pid: number): number {
  const fields = readFields(pid);
  return (ticks(fields, 11) + ticks(fields, 12)) * msPerTick;
}

/** The same with its children, also those that have ended. */
export function processorMsWithChildren(pid: number): number {
  if (!existsSync('/proc/stat')) return 0;
  const ended = readFields(pid);
  const children = readdirSync('/proc').filter((name) => Number(readFields(Number(name))[1]) === pid);
  return [pid, ...children.map(Number)].reduce(
    (sum, each) => sum + processorMs(each),
    (ticks(ended, 13) + ticks(ended, 14)) * msPerTick,
  );
}

/** What follows the name in /proc/<pid>/stat, from the state on. */
function readFields(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

function ticks(fields: readonly string[], index: number): number {
  return Number(fields[index] ?? 0);
}
