import type { TestService } from '../service.ts';
import { recordStatements } from '../stores/statements.ts';
import type { DashboardVisitor } from './dashboard-visitor.ts';

/** How many statements each of these pages takes, of a service whose clock sends none. */
export async function statementsOfPages(
  { deps }: Pick<TestService, 'deps'>,
  visitor: DashboardVisitor,
  paths: readonly string[],
): Promise<number[]> {
  // A session is noted as seen once a minute, whatever is opened.
  await deps.db.session.updateMany({ data: { lastSeenAt: new Date(Date.now() + 3_600_000) } });
  const recording = recordStatements();
  const counts: number[] = [];
  for (const path of paths) counts.push((await recording.during(() => visitor.get(path))).length);
  recording.stop();
  return counts;
}
