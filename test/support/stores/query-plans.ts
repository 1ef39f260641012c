import { openDatabase } from '../../../shared/platform/database.ts';
import { withClient } from './database-client.ts';
import { recordStatements, type Statement } from './recorded-statements.ts';

type Work = (db: ReturnType<typeof openDatabase>) => Promise<unknown>;

/** How PostgreSQL carried out one statement. */
export interface QueryPlan {
  text: string;
  /** Every node as `Index Only Scan on refund using refund_list`. */
  nodes: string[];
  /** Pages of tables and indexes that were looked at, each as often as that. */
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

/** Does the work on a connection of its own, and then has every query that it sent explained and measured once more. */
export async function plansOf(databaseUrl: string, work: Work): Promise<QueryPlan[]> {
  const recording = recordStatements();
  const db = openDatabase(databaseUrl, { poolSize: 1 });
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
