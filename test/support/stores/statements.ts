import pg from 'pg';
import type { Database } from '#shared/platform/database.ts';
import { withClient } from './database-client.ts';
import { openTestDatabase } from './open-database.ts';

/** A statement with the values of its parameters. */
export interface Statement {
  text: string;
  values: unknown[];
}

export interface Recording {
  /** Statements so far. */
  statements: Statement[];
  /** The text of each statement sent while `step` runs. */
  during(step: () => Promise<unknown>): Promise<string[]>;
  stop(): void;
}

/** Records every parameterized statement that this process sends to PostgreSQL. Only one recording may run. */
export function recordStatements(): Recording {
  const statements: Statement[] = [];
  const { prototype } = pg.Client;
  const query = prototype.query as (...args: unknown[]) => unknown;
  prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [config] = args as [{ text?: unknown; values?: unknown[] } | string];
    if (typeof config === 'object' && typeof config.text === 'string') {
      statements.push({ text: config.text, values: config.values ?? [] });
    }
    return query.apply(this, args);
  } as typeof prototype.query;
  const stop = () => {
    prototype.query = query as typeof prototype.query;
  };
  const during = async (step: () => Promise<unknown>) => {
    statements.length = 0;
    await step();
    return statements.map(({ text }) => text);
  };
  return { statements, during, stop };
}

type Work = (db: Database) => Promise<unknown>;

/** How PostgreSQL carried out one statement. */
export interface QueryPlan {
  text: string;
  /** Every node as `Index Only Scan on refund using refund_list`. */
  nodes: string[];
  /** How many pages of tables and indexes were read, with repetitions. */
  pages: number;
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** Does the work, then runs EXPLAIN ANALYZE for each of its queries. */
export async function plansOf(databaseUrl: string, work: Work): Promise<QueryPlan[]> {
  const recording = recordStatements();
  const db = openTestDatabase(databaseUrl);
  try {
    await work(db);
  } finally {
    await db.$disconnect();
    recording.stop();
  }
  const queries = recording.statements.filter(({ text }) => /^\s*select/i.test(text));
  return await withClient(databaseUrl, async (client) => {
    const plans: QueryPlan[] = [];
    for (const { text, values } of queries) {
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
      plans.push(planOf({ text, values }, rows[0]['QUERY PLAN'][0].Plan));
    }
    return plans;
  });
}

function planOf({ text }: Statement, root: PlanNode): QueryPlan {
  const nodes: string[] = [];
  const visit = (node: PlanNode) => {
    const relation = node['Relation Name'] === undefined ? '' : ` on ${node['Relation Name']}`;
    const index = node['Index Name'] === undefined ? '' : ` using ${node['Index Name']}`;
    nodes.push(`${node['Node Type']}${relation}${index}`);
    for (const child of node.Plans ?? []) visit(child);
  };
  visit(root);
  return { text, nodes, pages: root['Shared Hit Blocks'] + root['Shared Read Blocks'] };
}
