const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

/** Fields of every log line that a terminal does not need. */
const ownFields = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'err']);

/**
 * Formats a line of output for a terminal: a JSON log line as level, message and fields, any other line unchanged.
 * @returns one line, or several with an error's stack.
 */
export function readable(line: string): string[] {
  const entry = parse(line);
  if (entry === null) return [line];
  const level = (levels[Number(entry.level)] ?? 'info').padEnd(5);
  const fields = Object.entries(entry)
    .filter(([field]) => !ownFields.has(field))
    .map(([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const [summary, ...stack] = errorLines(entry.err);
  // An error without a stack is expected trouble, for which one line is enough.
  const isShort = summary !== undefined && stack.length === 0;
  const first = [level, entry.msg, ...(isShort ? [`err=${summary}`] : []), ...fields].join(' ');
  return [
    first,
    ...(isShort || summary === undefined ? [] : [summary, ...stack]).map((each) => `      ${each}`),
  ];
}

/**
 * Splits a stream into lines.
 * @returns takes the next piece and keeps an unfinished line for the one after.
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
  return (stack ?? message ?? '').split('\n');
}
