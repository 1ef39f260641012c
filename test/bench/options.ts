import { parseArgs } from 'node:util';

export type QueueKind = 'redis' | 'postgres';

/** Rows of the main table that are loads. */
const loadRows = ['create', 'key', 'new', 'wait', 'completed', 'get', 'list'] as const;

/** What is measured; all but the last are rows of the main table. */
const rowIds = [...loadRows, 'deliveries', 'delay'] as const;

export type RowId = (typeof rowIds)[number];

/** In which conditions both pipelines are measured. */
export interface Scenario {
  title: string;
  /** Of which those that were asked for are measured. */
  rows: readonly RowId[];
  /** Not in the main tables, and measured with one queue alone. */
  isFurther: boolean;
  /** The processor's, and an endpoint of the service. */
  webhooks: boolean;
  /** How many completed refunds are in the tables before the run. */
  preload: number;
  /** How many connected accounts the organization has that are not in use. */
  idleAccounts: number;
  /** Without, no table is analyzed. */
  hasStatistics: boolean;
  /** Unless the options say otherwise. */
  seconds: number;
  rounds: number;
}

const production: Scenario = {
  title: 'As in production',
  rows: rowIds,
  isFurther: false,
  webhooks: true,
  preload: 0,
  idleAccounts: 0,
  hasStatistics: true,
  seconds: 5,
  rounds: 3,
};
const further = { ...production, rows: loadRows, isFurther: true, seconds: 2, rounds: 2 };

/** Everything that `npm run bench` measures. */
const scenarios: Readonly<Record<string, Scenario>> = {
  production,
  lab: { ...production, title: 'Without webhooks', webhooks: false },
  unanalyzed: { ...further, title: 'A new database without statistics', hasStatistics: false },
  connected: { ...further, title: '10,000 idle connected accounts', idleAccounts: 10_000 },
  million: { ...further, title: '1,000,000 refunds before the run', preload: 1_000_000 },
};

const queueKinds: Readonly<Record<string, QueueKind[]>> = {
  both: ['redis', 'postgres'],
  redis: ['redis'],
  postgres: ['postgres'],
};

export interface BenchOptions {
  scenarios: Scenario[];
  /** How long each load lasts, and how often it is repeated; null for what the scenario has. */
  seconds: number | null;
  rounds: number | null;
  queues: QueueKind[];
  rows: RowId[];
}

/** @throws TypeError naming the option that cannot be used. */
export function parseOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      scenarios: { type: 'string', default: 'production' },
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      queue: { type: 'string', default: 'both' },
      rows: { type: 'string', default: rowIds.join() },
      lab: { type: 'boolean', default: false },
    },
  });
  const furtherIds = Object.keys(scenarios).filter((id) => scenarios[id]?.isFurther);
  const asked = (values.lab ? 'lab' : values.scenarios).replace('further', furtherIds.join());
  return {
    scenarios: asked.split(',').map((id) => pick('--scenarios', id, scenarios)),
    seconds: numberOf('--seconds', values.seconds),
    rounds: numberOf('--rounds', values.rounds),
    queues: pick('--queue', values.queue, queueKinds),
    rows: values.rows.split(',').map((row) => pick('--rows', row, rows)),
  };
}

const rows = Object.fromEntries(rowIds.map((id) => [id, id]));

function pick<T>(option: string, value: string, allowed: Readonly<Record<string, T>>): T {
  const picked = allowed[value];
  if (picked !== undefined) return picked;
  throw new TypeError(`${option} takes ${Object.keys(allowed).join(', ')}, not ${value}.`);
}

function numberOf(option: string, value: string | undefined): number | null {
  if (value === undefined) return null;
  if (Number(value) > 0) return Number(value);
  throw new TypeError(`${option} takes a number above 0, not ${value}.`);
}
