import { parseArgs } from 'node:util';
import { type Scenario, scenarios } from './scenarios.ts';

export type QueueKind = 'redis' | 'postgres';

/** What is measured; all but the last are rows of the main table. */
export const rowIds = [
  'create',
  'key',
  'new',
  'wait',
  'completed',
  'get',
  'list',
  'deliveries',
  'delay',
] as const;

export type RowId = (typeof rowIds)[number];

export interface BenchOptions {
  scenarios: Scenario[];
  /** How long each load lasts, and how often it is repeated; null for what the scenario has. */
  seconds: number | null;
  rounds: number | null;
  connections: number;
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
      connections: { type: 'string', default: '64' },
      queue: { type: 'string', default: 'both' },
      rows: { type: 'string', default: rowIds.join() },
      lab: { type: 'boolean', default: false },
    },
  });
  return {
    scenarios: scenariosOf(values.lab ? 'lab' : values.scenarios),
    seconds: values.seconds === undefined ? null : numberOf('--seconds', values.seconds, Number.isFinite),
    rounds: values.rounds === undefined ? null : numberOf('--rounds', values.rounds),
    connections: numberOf('--connections', values.connections),
    queues: oneOf('--queue', values.queue, ['redis', 'postgres', 'both']).flatMap((queue) =>
      queue === 'both' ? (['redis', 'postgres'] as const) : [queue],
    ),
    rows: values.rows.split(',').flatMap((row) => oneOf('--rows', row, rowIds)),
  };
}

/** `further` stands for all but those of the main tables. */
function scenariosOf(value: string): Scenario[] {
  if (value === 'further') return scenarios.filter(({ isFurther }) => isFurther);
  const ids = scenarios.map(({ id }) => id);
  const asked = value.split(',').flatMap((id) => oneOf('--scenarios', id, [...ids, 'further']));
  return scenarios.filter(({ id }) => asked.includes(id));
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T[] {
  const found = allowed.filter((each) => each === value);
  if (found.length === 0) throw new TypeError(`${option} takes ${allowed.join(', ')}, not ${value}.`);
  return found;
}

function numberOf(option: string, value: string, isAllowed = Number.isInteger): number {
  const number = Number(value);
  if (number > 0 && isAllowed(number)) return number;
  throw new TypeError(
    `${option} takes a ${isAllowed === Number.isInteger ? 'whole ' : ''}number above 0, not ${value}.`,
  );
}
