import { createHash } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { type Canary, findCanaries } from '../support/http/canaries.ts';
import { madeBeforeTests } from '../support/made-before-tests.ts';
import { useScriptedServers } from '../support/processors/scripted-server.ts';
import { openCredentials, sealedOf } from '../support/processors/stored-credentials.ts';
import { useDatabase } from '../support/stores/database.ts';
import { byteColumns, everyCell } from '../support/stores/database-content.ts';
import { forbidden, owned, sealedColumns } from './canaries/planted.ts';
import { allCanaries, drive, openSite } from './canaries/site.ts';

vi.setConfig({ hookTimeout: 500_000 });

// With the queues in PostgreSQL, jobs and their failures are in the database, too.
describe('secrets and card numbers', () => {
  const databaseUrl = useDatabase();
  const serve = useScriptedServers();
  const site = madeBeforeTests(
    'The site',
    async () => {
      const opened = await openSite(databaseUrl(), serve);
      await drive(opened);
      return opened;
    },
    ({ processes }) => processes.close(),
  );

  const foundIn = (texts: readonly [name: string, text: string][], canaries = allCanaries(site)) =>
    texts.flatMap(([name, text]) => findCanaries(canaries, name, text));

  test('do not appear in logs of level trace', () => {
    const { logs } = site.trail;
    expect(logs.map(([, text]) => text.length > 0)).not.toContain(false);
    expect(logs.map(([, text]) => text).join('')).toMatch(/"level":50/);
    expect(foundIn(logs)).toEqual([]);
  });

  test('do not appear in traces', () => {
    const { received, spans } = site.collector;
    const names = new Set(spans().map(({ name }) => name));
    expect(names).toContain('POST /v1/refunds');
    expect(names).toContain('step send');
    expect(foundIn(received().map((body) => ['an export', body]))).toEqual([]);
  });

  test('do not appear in refusals or in the headers of answers', () => {
    expect(site.trail.answers.length).toBeGreaterThan(40);
    expect(foundIn(site.trail.answers)).toEqual([]);
  });

  test('do not appear in the output of the command line', () => {
    const { commands, keys } = site.trail;
    expect(commands.filter(([, { code }]) => code === 0).length).toBeGreaterThan(3);
    const output = commands.map(([command, { stdout, stderr }]): [string, string] => [
      command,
      `${stdout}\n${stderr}`,
    ]);
    expect(foundIn(output, [...forbidden, ...keys])).toEqual([]);
  });

  test("do not appear in the database, except a client's own data in its columns", async () => {
    const cells = await everyCell(site.databaseUrl);
    const allowed = ({ text }: Canary, column: string) =>
      Object.values(owned).some(({ canary, columns }) => canary.text === text && columns.includes(column));
    const found = cells.flatMap(({ column, text }) =>
      findCanaries(
        allCanaries(site).filter((canary) => !allowed(canary, column)),
        column,
        text,
      ),
    );
    expect(found).toEqual([]);
    // The allowed data is found, so that the search works.
    for (const { canary, columns } of Object.values(owned)) {
      const own = cells.filter(({ column, text }) => columns.includes(column) && text.includes(canary.text));
      expect(own.length, canary.what).toBeGreaterThan(0);
    }
  });

  test('are encrypted or hashed in columns of bytes', async () => {
    expect(await byteColumns(site.databaseUrl)).toEqual(sealedColumns);
    const { db, secrets: box } = site.processes.service.deps;
    for (const account of await db.processorAccount.findMany()) {
      expect(() => box.open(sealedOf(account), 'another row')).toThrow();
      expect(openCredentials(box, account)).toBeTypeOf('object');
    }
    const hashes = (await db.apiKey.findMany()).map(({ hash }) => Buffer.from(hash).toString('hex'));
    for (const { text } of site.trail.keys) {
      const digest = createHash('sha256').update(text).digest('hex');
      expect(hashes).toContain(digest);
    }
    const bound = await db.refund.findMany({ where: { fingerprint: { not: null } } });
    for (const { fingerprint } of bound) expect(fingerprint).toHaveLength(32);
    for (const { passwordHash } of await db.user.findMany()) expect(passwordHash).toMatch(/^\$argon2id\$/);
  });
});
