import { parseArgs } from 'node:util';

export type QueueKind = 'redis' | 'postgres';

/** What is measured; all but the last two are rows of the main table. */
export const rowIds = [
  'create',
  'key',
  'new',
  'wait',
  'completed',
  'get',
  'list',
  'deliveries',
  'latency',
  'statements',
] as const;

export type RowId = (typeof rowIds)[number];

export interface BenchOptions {
  /** How long each load lasts. */
  seconds: number;
  rounds: number;
  connections: number;
  queues: QueueKind[];
  rows: RowId[];
  /** How long a refund takes to settle at the processor; 0 settles it at once. */
  settleMs: number;
  /** Whether the processor sends webhooks. */
  webhooks: boolean;
  /** How many webhook endpoints of the organization get every event. */
  endpoints: number;
  /** How many refunds are in the database before the run; null for none. */
  preload: number | null;
  /** Where to write a chart of the main table. */
  svg: string | null;
}

/** @throws TypeError naming the option that cannot be used. */
export function parseOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '64' },
      queue: { type: 'string', default: 'both' },
      rows: { type: 'string', default: rowIds.join() },
      'settle-ms': { type: 'string', default: '0' },
      webhooks: { type: 'boolean', default: false },
      endpoints: { type: 'string', default: '0' },
      preload: { type: 'string' },
      svg: { type: 'string' },
    },
  });
  return {
    seconds: positive('--seconds', values.seconds),
    rounds: whole('--rounds', values.rounds, 1),
    connections: whole('--connections', values.connections, 1),
    queues: oneOf('--queue', values.queue, ['redis', 'postgres', 'both']).flatMap((queue) =>
      queue === 'both' ? (['redis', 'postgres'] as const) : [queue],
    ),
    rows: values.rows.split(',').flatMap((row) => oneOf('--rows', row, rowIds)),
    settleMs: whole('--settle-ms', values['settle-ms'], 0),
    webhooks: values.webhooks,
    endpoints: whole('--endpoints', values.endpoints, 0),
    preload: values.preload === undefined ? null : whole('--preload', values.preload, 1),
    svg: values.svg ?? null,
  };
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T[] {
  const found = allowed.filter((each) => each === value);
  if (found.length === 0) throw new TypeError(`${option} takes ${allowed.join(', ')}, not ${value}.`);
  return found;
}

function positive(option: string, value: string): number {
  const number = Number(value);
  if (!(number > 0)) throw new TypeError(`${option} takes a number above 0, not ${value}.`);
  return number;
}

function whole(option: string, value: string, min: number): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < min) {
    throw new TypeError(`${option} takes a whole number of ${min} or more, not ${value}.`);
  }
  return number;
}
