import { describe, expect, test } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { adminCliOf } from '../../support/processes/admin-cli.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
const admin = adminCliOf(service);

/** Stores entries a second apart, or all at the same time, and returns their ids in the order of the log. */
async function storeEntries(
  organizationId: string,
  count: number,
  at: Date,
  apartMs = 1_000,
): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, index) => ({
    ...{
      id: newId('aud'),
      organizationId,
      actor: 'user:usr_a',
      action: 'key.created',
      target: `key_${index}`,
    },
    ...{ detail: { name: 'A "name"\nof two lines' }, createdAt: new Date(at.getTime() + index * apartMs) },
  }));
  await service.deps.db.auditLog.createMany({ data: rows });
  return rows
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);
}

async function exported(organizationId: string, ...range: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await admin([
    'audit',
    'export',
    '--organization',
    organizationId,
    ...range,
  ]);
  expect(code, stderr).toBe(0);
  const lines = stdout.split('\n');
  expect(lines.pop()).toBe('');
  const entries = `${lines.length} ${lines.length === 1 ? 'entry' : 'entries'}`;
  expect(stderr).toMatch(new RegExp(`^Exported ${entries}\\. Continue with --since [-0-9T:.]+Z\\.\n$`));
  return lines.map((line) => JSON.parse(line));
}

const idsOf = (entries: Record<string, unknown>[]) => entries.map(({ id }) => id);
const start = new Date('2026-01-05T10:00:00Z');

const untilNow = () => ['--until', new Date(Date.now() + 1_000).toISOString()];

describe('audit export', () => {
  test('ends a minute ago by default, because an open transaction may still add older entries', async () => {
    const { id } = await service.addOrganization('Recent entries');
    const [old] = await storeEntries(id, 1, new Date(Date.now() - 70_000));
    const before = Date.now();
    const { stdout, stderr } = await admin(['audit', 'export', '--organization', id]);
    const after = Date.now();
    const [, end = ''] = /--since (\S+)\.$/m.exec(stderr) ?? [];
    // The database's clock is known to within the time of a statement.
    expect(Date.parse(end)).toBeGreaterThan(before - 65_000);
    expect(Date.parse(end)).toBeLessThan(after - 55_000);
    const entries = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries[0]).toMatchObject({ id: old });
    for (const { createdAt } of entries) expect(Date.parse(createdAt)).toBeLessThan(Date.parse(end));
    const [recent] = await storeEntries(id, 1, new Date(end));
    expect(idsOf(await exported(id, '--since', end, ...untilNow()))).toContain(recent);
  });

  test('writes every entry of more than two batches once, oldest first, also where many have the same time', async () => {
    const { id } = await service.addOrganization('Many entries');
    const made = idsOf(await exported(id, ...untilNow()));
    const same = await storeEntries(id, 1_500, start, 0);
    const later = await storeEntries(id, 1_000, new Date(start.getTime() + 1));
    expect(idsOf(await exported(id, ...untilNow()))).toEqual([...same, ...later, ...made]);
  });

  test('writes one JSON object per line, with these fields, of this organization alone', async () => {
    const { id } = await service.addOrganization('One entry');
    const [entryId] = await storeEntries(id, 1, start);
    const [entry, ...others] = await exported(id, '--until', '2026-02-01');
    expect(others).toEqual([]);
    expect(entry).toStrictEqual({
      ...{ id: entryId, createdAt: '2026-01-05T10:00:00.000Z', actor: 'user:usr_a', action: 'key.created' },
      ...{ target: 'key_0', detail: { name: 'A "name"\nof two lines' } },
    });
  });

  test('begins at --since and ends before --until, so that ranges that meet have every entry once', async () => {
    const { id } = await service.addOrganization('Ranges');
    const ids = await storeEntries(id, 10, start);
    const middle = '2026-01-05T10:00:04Z';
    const first = await exported(id, '--since', '2026-01-05', '--until', middle);
    const second = await exported(id, '--since', middle, '--until', '2026-01-06');
    expect([idsOf(first), idsOf(second)]).toEqual([ids.slice(0, 4), ids.slice(4)]);
  });
});
