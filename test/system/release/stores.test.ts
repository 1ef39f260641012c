import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { queueTroubles } from '#shared/platform/redis-trouble.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { adminCli, cliSettings } from '../../support/processes/admin-cli.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { allComplete } from '../../support/refunds/refund-records.ts';
import { startService, type TestService } from '../../support/service.ts';
import type { Stores } from '../../support/store-kinds/kind.ts';
import { postgresKinds } from '../../support/store-kinds/postgres-kinds.ts';
import { redisKinds } from '../../support/store-kinds/redis-kinds.ts';
import type { PostgresPackage } from '../../support/stores/embedded-postgres.ts';
import { installPostgresPackages } from '../../support/stores/postgres-packages.ts';
import { waitFor } from '../../support/wait-for.ts';

const refundCount = 300;

let postgres: { packages: PostgresPackage[]; folder: string };
const table: string[][] = [['stores', 'refunds', 'queueTrouble', 'doctor', 'log']];

beforeAll(async () => {
  postgres = await installPostgresPackages();
});
afterAll(() => {
  rmSync(postgres.folder, { recursive: true, force: true });
  console.log(table.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
});

test.each([...postgresKinds(() => postgres.packages), ...redisKinds])(
  'every refund completes once, and what is wrong is named: $name',
  async ({ name, subject, trouble = null, open }) => {
    const stores = await open();
    if (stores === null) return void table.push([name, 'not here', '', '', '']);
    const lines: string[] = [];
    const service = await startOn(stores, lines);
    onTestFinished(() => service.close());
    await createRefunds(service, refundCount / 2);
    await stores.disturb?.(service);
    await createRefunds(service, refundCount / 2);
    const completed = await allComplete(service);
    expect(completed).toBe(refundCount);
    await expectInvariants(service);
    const queueTrouble = async () => (await service.call('GET', '/readyz')).body.queueTrouble;
    await waitFor(`queueTrouble ${trouble}`, async () => (await queueTrouble()) === trouble);
    const doctor = await readDoctor(service, stores, subject);
    if (trouble !== null) expect(doctor).toContain(queueTroubles[trouble]);
    const log = [stores.refused ?? [], causesIn(lines)].flat().join(' ');
    table.push([name, `${completed}`, `${trouble}`, doctor, log]);
  },
);

function startOn({ databaseUrl, serviceUrl, redisUrl, settings }: Stores, lines: string[]) {
  return startService({
    databaseUrl,
    ...(serviceUrl === undefined ? {} : { serviceUrl }),
    backend: redisUrl === null ? { name: 'postgres', redisUrl } : { name: 'redis', redisUrl },
    settings: { CREATE_WAIT_MS: 100, ...settings },
    log: openLog('warn', 'test', { write: (line) => void lines.push(line) }),
  });
}

async function createRefunds(service: TestService, count: number): Promise<void> {
  await service.sandbox.settings({ autoSettleMs: 100 });
  const created = Array.from({ length: count }, (_, at) =>
    newRefund(service, { processor: PROCESSORS[at % PROCESSORS.length] ?? 'stripe' }),
  );
  await Promise.all(created);
}

async function readDoctor(
  service: TestService,
  { redisUrl, settings = {} }: Stores,
  about: string,
): Promise<string> {
  const { stdout } = await adminCli({
    ...cliSettings(service),
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
    ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, String(value)])),
  })(['doctor', '--json']);
  const findings = JSON.parse(stdout) as { state: string; subject: string; words: string }[];
  return findings
    .filter(({ subject, words }) => subject === about && !words.startsWith('fsync is off'))
    .map(({ state, words }) => (state === 'right' ? words : `${state}: ${words}`))
    .join(' ');
}

/** What the log names, each once. */
function causesIn(lines: readonly string[]): string[] {
  const causes = lines.map((line) => {
    const { err, msg } = JSON.parse(line) as { err?: { trouble?: string; message: string }; msg: string };
    return err?.trouble ?? (err === undefined ? msg : `${msg}: ${err.message}`);
  });
  return [...new Set(causes)];
}
