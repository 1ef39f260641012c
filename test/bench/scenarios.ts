import type { RowId } from './options.ts';

/** In which conditions both pipelines are measured. */
export interface Scenario {
  id: string;
  title: string;
  /** Rows of the main table, of which those that were asked for are measured; the other two have tables of their own. */
  rows: readonly RowId[] | 'inbound' | 'backlog';
  /** Not in the main tables, and measured with one queue alone. */
  isFurther: boolean;
  /** The processor's, and an endpoint of the service. */
  webhooks: boolean;
  /** How long a refund takes to settle at the processor; 0 settles it in the answer. */
  settleMs: number;
  /** How many completed refunds are in the tables before the run. */
  preload: number;
  /** Without, no table is analyzed, except by a scenario itself. */
  hasStatistics: boolean;
  /** Unless the options say otherwise. */
  seconds: number;
  rounds: number;
}

const loads = ['create', 'key', 'new', 'wait', 'completed', 'get', 'list'] as const;

const production: Scenario = {
  id: 'production',
  title: 'As in production',
  rows: [...loads, 'deliveries', 'delay'],
  isFurther: false,
  webhooks: true,
  settleMs: 0,
  preload: 0,
  hasStatistics: true,
  seconds: 5,
  rounds: 3,
};
const further = { ...production, rows: loads, isFurther: true, seconds: 2, rounds: 2 };
const settling = { settleMs: 1_500, rows: ['create', 'wait', 'completed'] } as const;

/** Everything that `npm run bench` measures. */
export const scenarios: readonly Scenario[] = [
  production,
  { ...production, id: 'lab', title: 'Without webhooks', webhooks: false },
  { ...further, id: 'settling', title: 'Settling after 1.5 s', ...settling },
  { ...further, id: 'unanalyzed', title: 'A new database without statistics', hasStatistics: false },
  {
    ...{ ...further, id: 'loaded', title: '20,000 refunds loaded, without statistics' },
    ...{ preload: 20_000, hasStatistics: false },
  },
  { ...further, id: 'million', title: '1,000,000 refunds before the run', preload: 1_000_000 },
  { ...further, id: 'inbound', title: 'Webhooks of the processor alone', rows: 'inbound' },
  { ...further, id: 'backlog', title: '50,000 refunds due at once', rows: 'backlog', hasStatistics: false },
];
