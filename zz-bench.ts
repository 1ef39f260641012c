import { startPostgres } from '/work/wt/lifecycle/test/support/stores/embedded-postgres.ts';
import pg from '/work/wt/lifecycle/node_modules/pg/lib/index.js';
import { migrate } from '/work/wt/lifecycle/prisma/migrate.ts';
import { execSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
// main's prisma folder
const main = mkdtempSync('/tmp/lcb/main-');
execSync(`git -C /work/wt/lifecycle archive main prisma | tar x -C ${main}`);
const server = await startPostgres({ durable: false });
const folders: Record<string, string> = { main: `${main}/prisma`, row: '/tmp/lcb/row/prisma', own: '/work/wt/lifecycle/prisma' };
async function open(name: string) {
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect(); await admin.query(`create database ${name}`); await admin.end();
  const url = server.url.replace(/\/[^/]*$/, `/${name}`);
  await migrate(url, { folder: folders[name.replace(/\d+/, '')]! } as never);
  const c = new pg.Client({ connectionString: url }); await c.connect();
  await c.query(`insert into organization (id, name) values ('org_a','A')`);
  await c.query(`insert into processor_account (id, organization_id, environment, processor, encrypted_credentials, encryption_key_id, updated_at) values ('acct','org_a','test','stripe','x','k',now())`);
  return c;
}
let n = 0;
const item = (payment: object | null, tx: string) => ({ id: `ref_${String(++n).padStart(20, '0')}`, organization_id: 'org_a', environment: 'test', processor: 'stripe', transaction_id: tx, amount: 1, currency: 'usd', reason: 'other', initiated_by: 'api', actor: 'user:u', status: 'processing', event_id: `evt_${n}`, idempotency_key: null, payment });
const facts = (tx: string) => ({ amount: 1000000, currency: 'usd', charged_at: '2026-01-01T00:00:00Z', refunded_outside: 0, fetched_at: '2026-11-28T00:00:00Z', transaction_ids: [tx] });
const now = () => process.hrtime.bigint();
async function cpu(c: any) { return Number((await c.query(`select 1`)).rowCount); }
async function round(c: any, size: number, rounds: number, stored: boolean) {
  const t: Record<string, number> = { create: 0, claim: 0, accept: 0, complete: 0, fail: 0 };
  for (let i = 0; i < rounds; i++) {
    const items = Array.from({ length: size }, (_, k) => { const tx = stored ? `ch_s${size}_${k}` : `ch_${n}_${k}_${i}`; return item(stored && (i > 0 || c.had?.[size]) ? null : facts(tx), tx); });
    const timed = async (name: string, sql: string, args: unknown[]) => { const s = now(); const r = await c.query({ name: name + size, text: sql, values: args }); t[name] += Number(now() - s) / 1000 / size / rounds; return r.rows; };
    const made = await timed('create', 'select outcome from create_refunds($1)', [JSON.stringify(items)]);
    if (stored) (c.had ??= {})[size] = true;
    if (made.some((m: any) => m.outcome !== 'created')) throw new Error(JSON.stringify(made[0]));
    const claims = await timed('claim', 'select claim from claim_refunds($1, 60000, $2)', [JSON.stringify(items.map((x) => ({ refund_id: x.id, per_second: { live: 0, test: 0 } }))), '[]']);
    if (claims.length !== size || claims[0].claim.step !== 'send') throw new Error('claim ' + claims.length + claims[0]?.claim.step);
    const rec = (to: string, type: string, extra: object) => JSON.stringify(claims.map(({ claim }: any, k: number) => ({ refund_id: claim.refund.id, lease_token: claim.work.lease_token, expected: 'processing', ends_attempt: true, is_known: true, knows_cancel: false, entries: [{ event_id: `evt_${claim.refund.id}_${to}`, type, to, detail: { a: 1 } }], change: { external_refund_id: `re_${claim.refund.id}`, ...extra }, due_in_ms: null })));
    const name = i % 4 === 3 ? 'fail' : 'complete';
    const done = await timed(name, 'select outcome from record_refunds($1)', [name === 'fail' ? rec('failed', 'refund.failed', { failure_code: 'x' }) : rec('completed', 'refund.completed', {})]);
    if (done.some((d: any) => d.outcome !== 'recorded')) throw new Error(JSON.stringify(done[0]));
  }
  t.complete = t.complete! * 4 / 3; t.fail = t.fail! * 4; delete t.accept;
  return t;
}
const best: Record<string, Record<string, number>> = {};
for (let k = 1; k <= Number(process.env.K ?? 4); k++) {
  const a = await open(`main${k}`), b = await open(`own${k}`), r = await open(`row${k}`);
  for (const [size, rounds, stored] of [[1, 120, false], [1, 120, true], [50, 12, false], [50, 12, true]] as const) {
    for (const [name, c] of [['main', a], ['own', b], ['row', r], ['main', a], ['own', b], ['row', r]] as const) {
      const t = await round(c, size, rounds, stored);
      const key = `${size} ${stored ? 'stored' : 'new'}`;
      for (const [w, v] of Object.entries(t)) { const id = `${key} ${w}`; best[id] ??= {}; best[id]![name] = Math.min(best[id]![name] ?? Infinity, v); }
    }
  }
  await a.end(); await b.end();
}
for (const [id, v] of Object.entries(best)) console.log(id.padEnd(22), Object.entries(v).map(([n, x]) => `${n} ${x.toFixed(0)}us`).join('  '), `${(100 * (v.own! / v.main! - 1)).toFixed(0)}%`);
await server.stop(); process.exit(0);
