import { expect, test } from 'vitest';
import { importProblems, workProblems } from '../../dev/checks/import-rules.ts';

test.each([
  ['api/x.ts', 'worker/main.ts', 'api does not import worker'],
  ['worker/x.ts', 'api/main.ts', 'worker does not import api'],
  ['shared/x.ts', 'api/main.ts', 'shared does not import a process'],
  ['worker/schedule/x.ts', 'test/support/x.ts', 'production code does not import tests'],
  ['worker/x.ts', 'stripe', 'only shared/processors/stripe talks to Stripe'],
  ['shared/processors/stripe/x.ts', 'braintree', 'only shared/processors/braintree talks to Braintree'],
  ['api/dashboard/queues/x.ts', 'bullmq', 'only shared/platform/queues.ts knows BullMQ'],
  [
    'api/x.ts',
    '@opentelemetry/api',
    'OpenTelemetry is loaded by shared/platform/trace-export.ts alone, and only where an endpoint is set',
  ],
  [
    'shared/refunds/x.ts',
    'prisma/generated/client.ts',
    'types of rows come from shared/platform/database.ts',
  ],
  ['worker/x.ts', 'shared/processors/stripe/adapter.ts', 'only the registry knows the adapters'],
  ['shared/platform/ids.ts', 'node:crypto', 'this file is a pure leaf'],
  ['shared/platform/x.ts', 'shared/refunds/model/refund.ts', 'the platform imports nothing else of shared/'],
  ['shared/platform/x.ts', 'shared/dependencies.ts', 'the platform imports nothing else of shared/'],
  ['shared/money/money.ts', 'fastify', 'this file is a pure leaf'],
  ['shared/policies/evaluate.ts', 'shared/platform/database.ts', 'policy evaluation is a pure leaf'],
  [
    'shared/client/x.ts',
    'shared/platform/errors.ts',
    'the client imports nothing else of the service and no package',
  ],
])('does not let %s import %s', (file, target, why) => {
  expect(importProblems(new Map([[file, [target]]]))).toEqual([`${file} imports ${target}: ${why}`]);
});

test('finds folders that import each other through a third', () => {
  const imports = new Map([
    ['shared/a/one.ts', ['shared/b/two.ts']],
    ['shared/b/two.ts', ['shared/c/three.ts']],
    ['shared/c/three.ts', ['shared/a/four.ts']],
    ['shared/a/four.ts', []],
  ]);
  expect(importProblems(imports)).toHaveLength(3);
  expect(importProblems(new Map([...imports, ['shared/c/three.ts', []]]))).toEqual([]);
});

test.each([
  ['worker/x.ts', 'UPDATE refund_work SET due_at = NULL'],
  ['shared/refunds/lifecycle/flag.ts', 'await tx.refundWork.deleteMany({})'],
  ['prisma/functions/payments/x.sql', 'INSERT INTO\n  refund_work AS w'],
])('does not let %s write refund_work', (file, text) => {
  const writer = 'shared/refunds/lifecycle/work.ts';
  const read = 'SELECT FROM refund_work FOR UPDATE; refundWork.findMany()';
  expect(
    workProblems(new Map([...[file, writer].map((each) => [each, text] as const), ['api/x.ts', read]])),
  ).toEqual([`${file} writes refund_work: only ${writer} and its SQL functions do`]);
});
