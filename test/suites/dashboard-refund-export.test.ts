import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { RunningExports } from '../../api/dashboard/pages/refunds/running-exports.ts';
import type { Database } from '../../shared/db.ts';
import { newId } from '../../shared/ids.ts';
import { auditedExport } from '../../shared/refunds/audited-export.ts';
import { exportRefunds } from '../../shared/refunds/export-refunds.ts';
import { parseCsv, wholeText } from '../harness/csv.ts';
import { type DashboardMember, signInMember } from '../harness/dashboard-member.ts';
import { withClient } from '../harness/database-client.ts';
import { fillRefunds } from '../harness/many-refunds.ts';
import { useService } from '../harness/use-service.ts';
import { waitFor } from '../harness/wait-for.ts';

const service = useService({ workers: 0 });
const organizationId = newId('org');
const count = 30_000;
const owner = { organizationId, environment: 'live' as const };
const list = `/dashboard/${organizationId}/live/refunds`;
let person: DashboardMember;

beforeAll(async () => {
  await withClient(service.settings.DATABASE_URL, async (client) => {
    await fillRefunds(client, { ...owner, count, now: new Date(), days: 30 });
    await fillRefunds(client, { organizationId, environment: 'test', count: 3, now: new Date(), days: 30 });
  });
  person = await signInMember(service, 'viewer', organizationId);
}, 120_000);

const audited = async (action: string) =>
  await service.deps.db.auditLog.findMany({
    where: { organizationId, action },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });

const decoded = (text: string) => text.replaceAll('&amp;', '&');
const exportLink = (text: string) => decoded(/id="export" href="([^"]+)"/.exec(text)?.[1] ?? '');
const progressLink = (text: string) => decoded(/hx-get="([^"]+progress[^"]+)"/.exec(text)?.[1] ?? '');

describe('an export', () => {
  test('is exactly what the list says, as a file, and stands in the audit log with its filter and rows', async () => {
    const page = await person.visitor.get(`${list}?status=failed&processor=stripe`);
    const expected = await wholeText(
      exportRefunds(service.deps.db, owner, { statuses: ['failed'], processor: 'stripe' }),
    );
    const rowCount = parseCsv(expected).length - 1;
    expect(rowCount).toBeGreaterThan(500);
    expect(page.text).toContain(`Export ${rowCount.toLocaleString('en')} refunds as CSV`);
    const file = await person.visitor.get(exportLink(page.text));
    expect(file.status).toBe(200);
    expect(file.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': expect.stringMatching(
        /^attachment; filename="refunds-live-\d{4}-\d\d-\d\d\.csv"$/,
      ),
      'cache-control': 'no-store',
    });
    expect(file.text).toBe(expected);
    const detail = { environment: 'live', filter: { statuses: ['failed'], processor: 'stripe' } };
    const actor = `user:${person.userId}`;
    expect(await audited('refunds.export_started')).toMatchObject([{ actor, detail }]);
    expect(await audited('refunds.exported')).toMatchObject([
      { actor, detail: { ...detail, rowCount, isComplete: true } },
    ]);
    const done = await person.visitor.get(progressLink(page.text));
    expect(done.text).toContain(`Done: ${rowCount.toLocaleString('en')} refunds are in the file.`);
    expect(done.text).not.toContain('hx-get');
  });

  test('of many refunds says honestly that it does not know how many', async () => {
    const { text } = await person.visitor.get(list);
    expect(text).toContain('More than 10,000 refunds');
    expect(text).toContain('Export more than 10,000 refunds as CSV');
  });

  test('comes as fast as it is taken, tells how far it is, and ends when nobody takes it any more', async () => {
    const { text } = await person.visitor.get(list);
    await service.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = service.app.server.address() as AddressInfo;
    const before = (await audited('refunds.exported')).length;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { cookie: person.visitor.cookie };
      get({ host: '127.0.0.1', port, path: exportLink(text), headers }, resolve).on('error', reject);
    });
    expect(answer.statusCode).toBe(200);
    await waitFor('the first piece', () => answer.readableLength > 0);
    const rowsTold = async () => {
      const part = await person.visitor.get(progressLink(text));
      expect(part.text).toContain('hx-trigger="every 1s"');
      return Number(/([\d,]+) refunds so far/.exec(part.text)?.[1]?.replaceAll(',', '') ?? 0);
    };
    // Nothing is read here, so it stands still once what is on the way between the two is full.
    let last = -1;
    const standing = await waitFor(
      'it to stand still',
      async () => {
        const rows = await rowsTold();
        const isStill = rows > 0 && rows === last;
        last = rows;
        return isStill ? rows : null;
      },
      { intervalMs: 500 },
    );
    expect(standing).toBeLessThan(count);
    answer.destroy();
    const entry = await waitFor('its end', async () => (await audited('refunds.exported'))[before]);
    expect(entry.detail).toMatchObject({ isComplete: false });
    expect((entry.detail as { rowCount: number }).rowCount).toBeLessThan(count);
    const part = await person.visitor.get(progressLink(text));
    expect(part.text).toMatch(/Broken off after [\d,]+ refunds; the file is not complete/);
    expect(part.text).not.toContain('hx-get');
  });

  test('that nobody waits for any more when it could begin is over', async () => {
    const { text } = await person.visitor.get(`${list}?status=failed`);
    if (!service.app.server.listening) await service.app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = service.app.server.address() as AddressInfo;
    await withClient(service.settings.DATABASE_URL, async (client) => {
      await client.query('BEGIN; LOCK TABLE refund IN ACCESS EXCLUSIVE MODE');
      const gone = new Promise<void>((resolve) => {
        service.app.server.once('request', (_request, answer) => answer.once('close', resolve));
      });
      const asking = get({
        ...{ host: '127.0.0.1', port, path: exportLink(text) },
        headers: { cookie: person.visitor.cookie },
      }).on('error', () => undefined);
      await waitFor('the export to count', async () => {
        const { rows } = await client.query('SELECT FROM pg_locks WHERE NOT granted');
        return rows.length > 0;
      });
      asking.destroy();
      await gone;
      await client.query('COMMIT');
    });
    await waitFor('its end', async () =>
      (await person.visitor.get(progressLink(text))).text.includes('Broken off after 0 refunds'),
    );
  });

  test('tells the fault that broke it off, also when that cannot be written down', async () => {
    const fault = new Error('The database is gone.');
    let entries = 0;
    const create = () => {
      entries += 1;
      return Promise.reject(entries === 1 ? fault : new Error('The entry failed.'));
    };
    const deps = { ...service.deps, db: { auditLog: { create } } as unknown as Database };
    const observer = { onRows: () => undefined, onEnd: () => undefined };
    const pieces = auditedExport(deps, { owner, filter: {}, actor: 'test' }, observer);
    await expect(pieces.next()).rejects.toBe(fault);
    expect(entries).toBe(2);
  });

  test('is not begun by asking for its headers, nor with a filter that is not valid', async () => {
    const before = (await audited('refunds.export_started')).length;
    const { cookie } = person.visitor;
    const head = await service.app.inject({ method: 'HEAD', url: `${list}/export`, headers: { cookie } });
    expect(head.statusCode).not.toBe(200);
    expect((await person.visitor.get(`${list}/export?status=lost`)).status).toBe(400);
    expect(await audited('refunds.export_started')).toHaveLength(before);
  });

  test('holds nothing of another environment, and nothing for strangers', async () => {
    const file = await person.visitor.get(`/dashboard/${organizationId}/test/refunds/export`);
    expect(parseCsv(file.text)).toHaveLength(1 + 3);
    const stranger = await signInMember(service, 'owner');
    const refused = await stranger.visitor.get(`${list}/export`);
    expect(refused.status).toBe(404);
    expect(refused.text).not.toContain('ref_');
  });
});

describe('progress', () => {
  test('of the exports of others is not told', async () => {
    const { text } = await person.visitor.get(`${list}?status=failed`);
    await person.visitor.get(exportLink(text));
    expect((await person.visitor.get(progressLink(text))).text).toContain('Done');
    const other = await signInMember(service, 'owner', organizationId);
    expect((await other.visitor.get(progressLink(text))).text).toContain('The export begins.');
  });

  test('that nobody knows of is not asked for for ever', async () => {
    let url = `${list}/export/progress?run=none&asked=1`;
    let asked = 0;
    for (; url !== ''; asked += 1) url = progressLink((await person.visitor.get(url)).text);
    expect(asked).toBe(10);
  });

  test('is kept of the last exports only', () => {
    const exports = new RunningExports(2);
    const total = { count: 1, atLeast: false };
    for (const name of ['first', 'second', 'second', 'third']) exports.begin(name, total);
    expect(['first', 'second', 'third'].map((name) => exports.find(name) !== null)).toEqual([
      false,
      true,
      true,
    ]);
  });
});
