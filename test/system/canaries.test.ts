import { createHash } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { credentialContext } from '../../shared/processors/accounts/connections.ts';
import { type Canary, findCanaries } from '../support/http/canaries.ts';
import { madeBeforeTests } from '../support/made-before-tests.ts';
import { useScriptedServers } from '../support/processors/scripted-server.ts';
import { isRelease } from '../support/release.ts';
import { postgresQueues, queueBackends } from '../support/stores/backends.ts';
import { useDatabase } from '../support/stores/database.ts';
import { byteColumns, everyCell } from '../support/stores/database-content.ts';
import { everyRedisKey } from '../support/stores/redis.ts';
import { drive } from './canaries/drive.ts';
import { forbidden, owned, sealedColumns, secrets } from './canaries/planted.ts';
import { allCanaries, failedJobs, openSite } from './canaries/site.ts';

vi.setConfig({ hookTimeout: 500_000 });

const backends = isRelease ? queueBackends : [postgresQueues];

describe.each(backends)('secrets and card numbers, queues on $name', (backend) => {
  const databaseUrl = useDatabase();
  const serve = useScriptedServers();
  const site = madeBeforeTests(
    'The site',
    async () => {
      const opened = await openSite(backend, databaseUrl(), serve);
      await drive(opened);
      return opened;
    },
    (opened) => opened.close(),
  );

  test('do not appear in logs of level trace', () => {
    expect(site.trail.logs.map(([, text]) => text.length > 0)).not.toContain(false);
    expect(site.trail.logs.map(([, text]) => text).join('')).toMatch(/"level":50/);
    expect(site.trail.logs.flatMap(([name, text]) => findCanaries(allCanaries(site), name, text))).toEqual(
      [],
    );
  });

  test('do not appear in refusals or in the headers of answers', () => {
    expect(site.trail.answers.length).toBeGreaterThan(40);
    expect(site.trail.answers.flatMap(([name, text]) => findCanaries(allCanaries(site), name, text))).toEqual(
      [],
    );
  });

  // Commands do the same on both backends.
  if (backend.name === 'postgres') {
    test('do not appear in the output of the command line', () => {
      expect(site.trail.commands.filter(([, { code }]) => code === 0).length).toBeGreaterThan(3);
      const found = site.trail.commands.flatMap(([command, { stdout, stderr }]) =>
        findCanaries([...forbidden, ...site.trail.keys], command, `${stdout}\n${stderr}`),
      );
      expect(found).toEqual([]);
    });
  }

  test('do not appear in the titles of processes', () => {
    expect(site.trail.titles).toHaveLength(2);
    expect(site.trail.titles.flatMap(([name, text]) => findCanaries(allCanaries(site), name, text))).toEqual(
      [],
    );
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
      const sealed = { keyId: account.encryptionKeyId, bytes: account.encryptedCredentials };
      expect(() => box.open(sealed, 'another row')).toThrow();
      expect(JSON.parse(box.open(sealed, credentialContext(account)))).toBeTypeOf('object');
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

  test('do not appear in names, data, failure reasons or stacks of jobs', async () => {
    expect((await failedJobs(site)).length).toBeGreaterThan(0);
    if (site.redisUrl === null) return;
    const entries = await everyRedisKey(site.redisUrl(secrets.redisPassword.text));
    expect(entries.length).toBeGreaterThan(0);
    expect(
      entries.flatMap(({ key, text }) => findCanaries(allCanaries(site), key, `${key}\n${text}`)),
    ).toEqual([]);
  });
});
