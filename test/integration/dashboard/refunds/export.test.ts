import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Downloads } from '#api/dashboard/http/downloads.ts';
import { nameActors } from '#shared/audit/actors.ts';
import type { Database } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import { auditedExport, exportRefunds } from '#shared/refunds/queries/export-refunds.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { parseCsv, wholeText } from '#test/support/http/csv.ts';
import { fillRefunds } from '#test/support/refunds/fill-refunds.ts';
import { startService } from '#test/support/service.ts';
import { postgresQueues } from '#test/support/stores/backends.ts';
import { withClient } from '#test/support/stores/database-client.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

const service = useService({ workers: 0 });
const organizationId = newId('org');
const count = 30_000;
const owner = { organizationId, environment: 'live' as const };
const list = `/dashboard/${organizationId}/live/refunds`;
let person: DashboardMember;

beforeAll(async () => {
  await withClient(service.databaseUrl, async (client) => {
    await fillRefunds(client, { ...owner, count, now: new Date(), days: 30 });
  });
  person = await signInMember(service, 'viewer', organizationId);
});

const audited = async (action: string) =>
  await service.deps.db.auditLog.findMany({
    where: { organizationId, action },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });

async function portOf({ app }: Pick<typeof service, 'app'>): Promise<number> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}

/** Starts a download and reads only its headers. */
async function download(
  path = `${list}/export`,
  { visitor: { cookie } } = person,
  from: Pick<typeof service, 'app'> = service,
): Promise<IncomingMessage> {
  const port = await portOf(from);
  return await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers: { cookie } }, resolve).on('error', reject);
  });
}

/** A response whose client reads nothing. */
const newResponse = () => Object.assign(new PassThrough(), { setTimeout: () => undefined });

const exportLink = (text: string) =>
  (/id="export" href="([^"]+)"/.exec(text)?.[1] ?? '').replaceAll('&amp;', '&');

describe('an export', () => {
  test('contains exactly the listed refunds and is recorded in the audit log with filter and row count', async () => {
    const page = await person.visitor.get(`${list}?status=failed&processor=stripe`);
    const expected = await wholeText(
      exportRefunds(service.deps.db, owner, { status: ['failed'], processor: 'stripe' }),
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
    expect(file.text).toBe(`\uFEFF${expected}`);
    const detail = { environment: 'live', filter: { status: ['failed'], processor: 'stripe' } };
    const actor = `user:${person.userId}`;
    expect(await audited('refunds.export_started')).toMatchObject([{ actor, detail }]);
    expect(await audited('refunds.exported')).toMatchObject([
      { actor, detail: { ...detail, rowCount, isComplete: true } },
    ]);
  });

  test('shows that there are more than 10,000 refunds instead of counting them', async () => {
    const { text } = await person.visitor.get(list);
    expect(text).toContain('10,000+ refunds');
    expect(text).toContain('Export 10,000+ refunds as CSV');
  });

  test('is read no faster than the client reads, and ends when the client disconnects', async () => {
    const before = (await audited('refunds.exported')).length;
    const answer = await download();
    expect(answer.statusCode).toBe(200);
    await waitFor('the first piece', () => answer.readableLength > 0);
    // Nothing is read here, so the export stops once the network buffers are full.
    expect(await audited('refunds.exported')).toHaveLength(before);
    answer.destroy();
    const entry = await waitFor('its end', async () => (await audited('refunds.exported'))[before]);
    expect(entry.detail).toMatchObject({ isComplete: false });
    expect((entry.detail as { rowCount: number }).rowCount).toBeLessThan(count);
  });

  test('never starts for a client that has disconnected', async () => {
    const before = (await audited('refunds.export_started')).length;
    const downloads = new Downloads(1_000);
    const response = newResponse();
    response.destroy();
    await waitFor('the response to close', () => response.closed);
    const asked = { owner, filter: {}, actor: 'cli:gone' };
    const stream = downloads.start('usr_gone', response, auditedExport(service.deps, asked));
    await waitFor('its end', () => stream.closed);
    await downloads.ended();
    expect(await audited('refunds.export_started')).toHaveLength(before);
  });

  test('masks card numbers of the search text in the audit log', async () => {
    await person.visitor.get(`${list}/export?q=4242424242424242`);
    for (const action of ['refunds.export_started', 'refunds.exported']) {
      const last = (await audited(action)).at(-1);
      expect(last?.detail).toMatchObject({ filter: { q: '[digits redacted]' } });
    }
  });

  test('reports the error that stopped it even when the audit log cannot be written', async () => {
    const fault = new Error('The database is gone.');
    let entries = 0;
    const create = () => {
      entries += 1;
      return Promise.reject(entries === 1 ? fault : new Error('The entry failed.'));
    };
    const deps = { ...service.deps, db: { auditLog: { create } } as unknown as Database };
    const pieces = auditedExport(deps, { owner, filter: {}, actor: 'test' });
    await expect(pieces.next()).rejects.toBe(fault);
    expect(entries).toBe(2);
  });

  test('is not started by a HEAD request or an invalid filter', async () => {
    const before = (await audited('refunds.export_started')).length;
    const { cookie } = person.visitor;
    const head = await service.app.inject({ method: 'HEAD', url: `${list}/export`, headers: { cookie } });
    expect(head.statusCode).not.toBe(200);
    expect((await person.visitor.get(`${list}/export?status=lost`)).status).toBe(400);
    expect(await audited('refunds.export_started')).toHaveLength(before);
  });
});

describe('concurrent exports', () => {
  test('are limited to two per user and eight in all, until one ends', async () => {
    const downloads = new Downloads(60_000);
    const begin = (userId: string) => {
      const response = newResponse();
      downloads.start(userId, response, Readable.from([])).resume();
      return response;
    };
    const [first] = [begin('usr_1'), begin('usr_1')];
    expect(() => begin('usr_1')).toThrow(/^You already have 2 exports running\./);
    first?.destroy();
    await waitFor('a place', () => {
      try {
        return begin('usr_1');
      } catch {
        return null;
      }
    });
    for (const userId of ['usr_2', 'usr_2', 'usr_3', 'usr_3', 'usr_4', 'usr_4']) begin(userId);
    expect(() => begin('usr_5')).toThrow(/^Too many exports are running\./);
    downloads.abort();
    await downloads.ended();
  });

  test('above the limit are refused with a page that says what to do', async () => {
    const answers = [await download(), await download()];
    const before = (await audited('refunds.export_started')).length;
    const refused = await person.visitor.get(`${list}/export`);
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('30');
    expect(refused.headers['content-type']).toMatch(/^text\/html/);
    expect(refused.text).toContain('You already have 2 exports running.');
    expect(await audited('refunds.export_started')).toHaveLength(before);
    for (const answer of answers) answer.destroy();
    await waitFor(
      'a place',
      async () => (await person.visitor.get(`${list}/export?status=failed`)).status === 200,
    );
  });
});

test('an export ends when its reader is removed from the organization', async () => {
  const guest = await signInMember(service, 'viewer', organizationId);
  const answer = await download(`${list}/export`, guest);
  const where = { organizationId_userId: { organizationId, userId: guest.userId } };
  await service.deps.db.membership.delete({ where });
  await expect(wholeText(answer)).rejects.toThrow();
  const ended = async () =>
    (await audited('refunds.exported')).find(({ actor }) => actor.endsWith(guest.userId));
  expect((await waitFor('the entry', ended)).detail).toMatchObject({ isComplete: false });
});

test('a reader that stops reading, even during the last piece, is disconnected', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  onTestFinished(async () => {
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  client.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
  const [, response] = await once(server, 'request');
  // More than the network buffers hold.
  new Downloads(400).start('usr_1', response, Readable.from(['x'.repeat(50_000_000)])).pipe(response);
  await waitFor('the response to be closed', () => response.closed);
  expect(response.writableFinished).toBe(false);
});

test('an API that closes waits for an export for a limited time and records it as incomplete', async () => {
  // Longer than the test runs.
  const shutdownTimeoutMs = 3_600_000;
  const closing = await startService({
    databaseUrl: service.databaseUrl,
    backend: postgresQueues,
    workers: 0,
    settings: { SHUTDOWN_TIMEOUT_MS: shutdownTimeoutMs },
  });
  onTestFinished(() => closing.close());
  const member = await signInMember(closing, 'viewer', organizationId);
  const answer = await download(`${list}/export`, member, closing);
  await waitFor('the first piece', () => answer.readableLength > 0);
  answer.on('error', () => undefined);
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => timers.mockRestore());
  let isClosed = false;
  const closed = closing.app.close().then(() => {
    isClosed = true;
  });
  const isLimit = ([, ms = 0]: readonly unknown[]) => Number(ms) > shutdownTimeoutMs / 2;
  const [overdue, limitMs] = await waitFor('the time limit', () => timers.mock.calls.find(isLimit));
  expect(limitMs).toBeLessThan(shutdownTimeoutMs);
  const exported = { where: { action: 'refunds.exported', actor: `user:${member.userId}` } };
  expect({ isClosed, ended: await closing.deps.db.auditLog.count(exported) }).toEqual({
    isClosed: false,
    ended: 0,
  });
  expect(answer.destroyed).toBe(false);
  overdue();
  await closed;
  const entry = await closing.deps.db.auditLog.findFirstOrThrow(exported);
  expect(entry.detail).toMatchObject({ isComplete: false });
});

test('an export has the chosen columns, with names of people and policies and a column for each key of metadata', async () => {
  const { db } = service.deps;
  const refund = await db.refund.findFirstOrThrow({
    where: { ...owner, status: 'completed', events: { some: { type: 'refund.processing' } } },
    include: { events: { orderBy: { seq: 'asc' } } },
  });
  const keys = ['requester', 'approver', 'policy', 'completedAt', 'expectedBy', 'bankReference', 'account'];
  const query = new URLSearchParams([
    ['q', refund.id],
    ...[...keys, 'unknown'].map((key) => ['columns', key]),
    ['metadataKeys', 'channel'],
  ]);
  const arrival = { kind: 'credit', reference: 'ARN 7' };
  await db.refund.update({ where: { id: refund.id }, data: { arrival, metadata: { channel: 'shop' } } });
  const file = await person.visitor.get(`${list}/export?${query}`);
  const [header, row, ...others] = parseCsv(file.text.replace('\uFEFF', ''));
  expect([header, others]).toEqual([[...keys, 'metadata.channel'], []]);
  const names = await nameActors(
    db,
    organizationId,
    refund.events.map(({ actor }) => actor),
  );
  const nameAt = (type: string) => names.get(refund.events.find((event) => event.type === type)?.actor ?? '');
  expect(row).toEqual([
    ...[nameAt('refund.created'), nameAt('refund.processing'), 'Everything else'],
    ...[refund.completedAt?.toISOString(), expect.stringMatching(/^\d{4}-\d\d-\d\d$/), 'ARN 7'],
    ...[refund.processor, 'shop'],
  ]);
});
