import { beforeAll, describe, expect, test } from 'vitest';
import { type AuditAction, findAuditEntries, writeAudit, writeAudits } from '#shared/audit/audit-log.ts';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { encodeCursor } from '#shared/platform/cursor.ts';
import type { Prisma } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { parseCsv } from '#test/support/http/csv.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { withClient } from '#test/support/stores/database-client.ts';
import { plansOf } from '#test/support/stores/statements.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });

let admin: DashboardMember;
let auditLog: string;

beforeAll(async () => {
  admin = await signInMember(service, 'admin');
  auditLog = `/dashboard/${service.organization.id}/test/settings/audit-log`;
});

interface Entry {
  organizationId?: string;
  actor?: string;
  action?: AuditAction;
  target?: string;
  detail?: Prisma.InputJsonObject;
}

async function note(entry: Entry, at = service.deps.clock.now()): Promise<void> {
  const { id: organizationId } = service.organization;
  const defaults = { organizationId, actor: 'cli:ada', action: 'key.created', target: newId('key') } as const;
  await service.deps.db.$transaction((tx) => writeAudit(tx, { ...defaults, ...entry }, at));
}

describe('the audit log', () => {
  test('shows actor, action and details', async () => {
    await note({ action: 'key.revoked', detail: { environment: 'live', lastFour: 'WXYZ' } });
    const limits = { currency: 'usd', maxPerRefund: 1_234, approvalAbove: 500, reasons: ['other'] };
    await note({ detail: { limits } });
    const { status, text } = await admin.visitor.get(auditLog);
    expect(status).toBe(200);
    expect(text).toContain('ada (command line)');
    expect(text).toContain('Revoked API key');
    expect(text).toContain('last four: WXYZ, environment: live');
    for (const limit of ['max per refund: 12.34 USD', 'approval above: 5.00 USD', 'reasons: other'])
      expect(text).toContain(limit);
    expect(text).toContain(admin.email);
  });

  test('shows an unknown action by its name, and escapes details', async () => {
    await service.deps.db.auditLog.create({
      data: {
        ...{ id: newId('aud'), organizationId: service.organization.id, actor: 'cli:ada', target: 'moon' },
        ...{ action: 'moon.landed_on', detail: { note: '<img src=x onerror=alert(1)>' } },
        createdAt: service.deps.clock.now(),
      },
    });
    const { text } = await admin.visitor.get(auditLog);
    expect(text).toContain('moon landed on');
    expect(text).toContain('note: &lt;img src=x onerror=alert(1)>');
    expect(text).not.toContain('<img');
  });

  test('links to keys and refunds in their own environment', async () => {
    const organizationId = service.organization.id;
    const key = await createApiKey(service.deps, { organizationId, environment: 'live', actor: 'cli:ada' });
    const refund = await newRefund(service);
    await note({ action: 'refund.rechecked', target: refund.id });
    const { text } = await admin.visitor.get(auditLog.replace('/test/', '/live/'));
    expect(text).toContain(`/dashboard/${organizationId}/live/settings/api-keys#${key.id}`);
    expect(text).toContain(`/dashboard/${organizationId}/test/refunds/${refund.id}`);
  });

  test('filters by actor and action', async () => {
    await note({ actor: 'cli:grace', action: 'policies.set' });
    await note({ actor: 'cli:grace', action: 'refund.flag_dismissed' });
    const count = async (query: string) =>
      (await admin.visitor.get(`${auditLog}?${query}`)).text.split('<th scope="row"><time').length - 1;
    expect(await count('actor=cli%3Agrace&action=')).toBe(2);
    expect(await count('actor=cli%3Agrace&action=refund.flag_dismissed')).toBe(1);
    expect(await count('actor=&action=policies.set')).toBe(1);
    expect(await count('actor=cli%3Anobody')).toBe(0);
    expect((await admin.visitor.get(`${auditLog}?actor=cli%3Agrace`)).text).toContain(
      '<option value="cli:grace" selected',
    );
  });

  test('pages through entries of the same time without losing or repeating any', async () => {
    const at = new Date('2026-01-01T00:00:00Z');
    const { id: organizationId } = service.organization;
    const entry = { organizationId, actor: 'cli:many', action: 'key.created', target: 'many' } as const;
    const entries = Array.from({ length: 120 }, (_, index) => ({ ...entry, detail: { n: `n${index}n` } }));
    await writeAudits(service.deps.db, entries, at);
    const seen: string[] = [];
    let url: string | undefined = `${auditLog}?actor=cli%3Amany`;
    let pages = 0;
    while (url !== undefined) {
      const { text }: { text: string } = await admin.visitor.get(url);
      seen.push(...(text.match(/\bn\d+n\b/g) ?? []));
      pages += 1;
      url = /href="([^"]+)">Older/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(pages).toBe(3);
    expect(seen).toHaveLength(120);
    expect(new Set(seen).size).toBe(120);
  });

  test('reveals nothing of another organization by a cursor or an actor', async () => {
    const other = await signInMember(service, 'owner', (await service.addOrganization('Else')).id);
    const theirs = await service.deps.db.auditLog.findFirstOrThrow({
      where: { organizationId: { not: service.organization.id } },
    });
    const createdAt = new Date(theirs.createdAt.getTime() + 1);
    const cursor = encodeCursor({ direction: 'older', position: { ...theirs, createdAt } });
    expect((await admin.visitor.get(`${auditLog}?cursor=${cursor}`)).text).not.toContain(other.email);
    expect((await admin.visitor.get(`${auditLog}?cursor=${theirs.id}`)).status).toBe(400);
    const { text } = await admin.visitor.get(`${auditLog}?actor=user:${other.userId}`);
    expect(text).toContain('No matching entries');
    expect(text).not.toContain(other.email);
  });

  test.each(['actor=nobody', 'action=a&action=b', 'cursor='])('accepts the query %s', async (query) => {
    expect((await admin.visitor.get(`${auditLog}?${query}`)).status).toBe(200);
  });

  test('lists and exports the days of a range, of the organization alone, disarmed, and records the export', async () => {
    const actor = 'cli:ranged';
    const formula = '=HYPERLINK("https://evil.example")';
    const days = ['2026-02-01T00:00:00Z', '2026-02-02T23:59:59.999Z', '2026-02-03T00:00:00Z'];
    for (const [index, day] of days.entries())
      await note({ actor, target: `${formula}${index}` }, new Date(day));
    const elsewhere = (await service.addOrganization('Ranged')).id;
    await note({ organizationId: elsewhere, actor, target: 'theirs' }, new Date(days[0] ?? ''));
    const range = 'from=2026-02-01&to=2026-02-02';
    const page = await admin.visitor.get(`${auditLog}?actor=cli%3Aranged&${range}`);
    expect(page.text.split('<th scope="row"><time').length - 1).toBe(2);
    const link = /id="export" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const file = await admin.visitor.get(link);
    expect(file.headers['content-disposition']).toMatch(/^attachment; filename="audit-log-.*\.csv"$/);
    const [header, ...lines] = parseCsv(file.text);
    expect(lines.map((line) => line[header?.indexOf('target') ?? -1])).toEqual([
      `'=HYPERLINK("https://evil.example")0`,
      `'=HYPERLINK("https://evil.example")1`,
    ]);
    const where = { organizationId: service.organization.id, actor: `user:${admin.userId}` };
    const ended = await service.deps.db.auditLog.findMany({
      where: { ...where, action: 'audit_log.exported' },
    });
    expect(ended.map(({ detail }) => detail)).toEqual([
      { filter: { actor, from: '2026-02-01', to: '2026-02-02' }, rowCount: 2, isComplete: true },
    ]);
  });

  test.each(['from=2026-02-30', 'from=2026-02-02&to=2026-02-01'])('refuses the range %s', async (range) => {
    expect((await admin.visitor.get(`${auditLog}?${range}`)).status).toBe(400);
    expect((await admin.visitor.get(`${auditLog}/export?${range}`)).status).toBe(400);
  });

  test('reads a page from the index, also from a long log', async () => {
    const { organizationId, before } = await longLog();
    for (const position of [null, before]) {
      const plans = await plansOf(service.databaseUrl, (db) =>
        findAuditEntries(db, { organizationId }, position, 50),
      );
      const pages = plans.reduce((sum, plan) => sum + plan.pages, 0);
      expect(pages, JSON.stringify(plans)).toBeLessThan(100);
    }
  });
});

/** Creates 5,000 entries; `before` is the position of one in the middle. */
async function longLog() {
  const { id: organizationId } = await service.addOrganization('Long');
  await withClient(service.databaseUrl, async (client) => {
    await client.query(
      `insert into audit_log (id, organization_id, actor, action, target, detail, created_at)
       select 'aud_' || n, $1, 'cli:ada', 'key.created', 'key_' || n, '{}', timestamptz '2026-01-01' + n * interval '1 minute'
       from generate_series(1, 5000) n`,
      [organizationId],
    );
    await client.query('vacuum analyze audit_log');
  });
  return { organizationId, before: { id: 'aud_2500', createdAt: new Date('2026-01-02T17:40:00Z') } };
}
