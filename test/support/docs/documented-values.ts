/** Values of variables in documented commands, where their form matters. */
const values: Readonly<Record<string, string>> = {
  $WHAT: 'replay',
  $SINCE: '2026-11-20T09:30:00Z',
  $DAY: '2026-11-20',
  $ROOT: '0'.repeat(64),
  "$(date -u -d '3 days ago' +%F)": '2026-11-20',
};

/** A text of a command with the values of these variables. */
export function withValues(text: string): string {
  return Object.entries(values).reduce((done, [name, value]) => done.replaceAll(name, value), text);
}
