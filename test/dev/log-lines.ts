const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

/** What every line of ours carries and no reader of a terminal needs. */
const ownFields = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err']);

/**
 * Turns what a process wrote into lines for people: its JSON log as level and message, anything else as it is.
 * @returns one line or, with an error's stack, several.
 */
export function readable(line: string): string[] {
  const entry = parse(line);
  if (entry === null) return [line];
  const level = (levels[Number(entry.level)] ?? 'info').padEnd(5);
  const fields = Object.entries(entry)
    .filter(([field]) => !ownFields.has(field))
    .map(([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [[level, entry.msg, ...fields].join(' '), ...errorLines(entry.err)];
}

/**
 * Cuts a stream into lines.
 * @returns takes the next piece; a line that is not finished waits for the next.
 */
export function splitLines(onLine: (line: string) => void): (piece: string) => void {
  let rest = '';
  return (piece) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') onLine(line);
  };
}

function parse(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null;
  try {
    const entry = JSON.parse(line);
    return typeof entry.msg === 'string' ? entry : null;
  } catch {
    return null;
  }
}

function errorLines(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { stack, message } = error as { stack?: string; message?: string };
  return (stack ?? message ?? '').split('\n').map((line) => `      ${line}`);
}
