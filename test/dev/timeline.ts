import { openDatabase, type RefundEvent } from '../../shared/platform/database.ts';

/** What happened to a refund, a line per event with the time since the first. */
export async function readTimeline(databaseUrl: string, refundId: string): Promise<string[]> {
  const db = openDatabase(databaseUrl, { poolSize: 1 });
  try {
    const events = await db.refundEvent.findMany({ where: { refundId }, orderBy: { seq: 'asc' } });
    const startedAt = events[0]?.createdAt.getTime() ?? 0;
    return events.map((event) => describe(event, startedAt));
  } finally {
    await db.$disconnect();
  }
}

function describe({ type, actor, status, detail, createdAt }: RefundEvent, startedAt: number): string {
  const seconds = ((createdAt.getTime() - startedAt) / 1000).toFixed(2);
  const who = actor.replace(/^key:.*/, 'API key');
  const facts = Object.values(detail as Record<string, unknown>)
    .filter(isFact)
    .join(', ');
  return `${seconds.padStart(7)} s  ${type.padEnd(20)} ${status.padEnd(11)} ${who.padEnd(9)} ${facts}`.trimEnd();
}

/** Leaves out what the timeline keeps for auditors. */
function isFact(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
