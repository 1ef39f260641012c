import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { collectDefaultMetrics } from 'prom-client';
import { expect, test } from 'vitest';
import { openMetrics } from '#shared/platform/telemetry/metrics.ts';

const folder = resolve(import.meta.dirname, '..', '..', '..', 'docs', 'operations');
const read = (name: string) => readFileSync(resolve(folder, name), 'utf8');

interface Definition {
  name: string;
  help: string;
  labelNames: readonly string[];
  constructor: { name: string };
}

const { registry } = openMetrics();
const ours = registry.getMetricsAsArray() as unknown as Definition[];

const alerts = [...read('prometheus-rules.yml').matchAll(/^ +- alert: (\w+)$/gm)].map(
  ([, name = '']) => name,
);

test('the page of the metrics has a row for each definition, with its words, and no other row', () => {
  const rows = ours.map((metric) => {
    const { name, help } = metric;
    const labels = metric.labelNames.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${metric.constructor.name.toLowerCase()} | ${labels} | ${help} |`;
  });
  const listed = read('metrics.md')
    .split('\n')
    .filter((line) => line.startsWith('| `refund_'));
  expect(listed).toEqual(rows);
});

test.each([
  'prometheus-rules.yml',
  'prometheus-rules.test.yml',
  'grafana-dashboard.json',
  'runbook.md',
  'kubernetes/worker-scaling.yaml',
])('every metric in %s exists', (file) => {
  const names = new Set(ours.map(({ name }) => name));
  const processes = new (registry.constructor as typeof import('prom-client').Registry)();
  collectDefaultMetrics({ register: processes, prefix: 'refund_' });
  for (const { name } of processes.getMetricsAsArray()) names.add(name);
  const used = [...read(file).matchAll(/\brefund_[a-z0-9_]+/g)].map(([name]) => name);
  const known = (name: string) => names.has(name) || names.has(name.replace(/_(bucket|sum|count)$/, ''));
  // Tables of the database have such names, too.
  const tables = ['refund_work', 'refund_event'];
  expect(used.filter((name) => !known(name) && !tables.includes(name))).toEqual([]);
});

test('every alert has a section of the runbook, and a test in which it fires and one in which it is silent', () => {
  expect(alerts.length).toBeGreaterThan(10);
  const sections = [...read('runbook.md').matchAll(/^## (Refund\w+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(alerts);
  const rules = read('prometheus-rules.yml');
  expect(alerts.filter((name) => !rules.includes(`runbook.md#${name.toLowerCase()}`))).toEqual([]);
  const tests = read('prometheus-rules.test.yml');
  const silent = (name: string) => new RegExp(`alertname: ${name}, .*exp_alerts: \\[\\]`).test(tests);
  const firing = (name: string) => new RegExp(`alertname: ${name}\\n.*\\n +exp_alerts:\\n`).test(tests);
  expect(alerts.filter((name) => !silent(name) || !firing(name))).toEqual([]);
});
