import { expect, test } from 'vitest';
import { importProblems, workProblems } from '../../dev/checks/import-rules.ts';

test.each([
  ['api/x.ts', 'worker/main.ts', 'api does not import worker'],
  ['worker/x.ts', 'stripe', 'only shared/processors/stripe talks to Stripe'],
  ['worker/x.ts', 'shared/processors/stripe/adapter.ts', 'only the registry knows the adapters'],
  ['shared/money/money.ts', 'fastify', 'this file is a pure leaf'],
  [
    'shared/timeline/x.ts',
    'shared/dependencies.ts',
    'only a process needs all dependencies; name those that are needed here',
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

test('finds subjects of shared/ that import each other through different folders', () => {
  const imports = new Map([
    ['shared/a/one.ts', ['shared/b/inner/two.ts']],
    ['shared/b/inner/two.ts', []],
    ['shared/b/three.ts', ['shared/a/inner/four.ts']],
    ['shared/a/inner/four.ts', []],
  ]);
  expect(importProblems(imports)).toEqual([
    'shared/a and shared/b import each other in a circle: shared/a/one.ts imports shared/b/inner/two.ts',
    'shared/b and shared/a import each other in a circle: shared/b/three.ts imports shared/a/inner/four.ts',
  ]);
  expect(importProblems(new Map([...imports, ['shared/b/three.ts', []]]))).toEqual([]);
});

test.each([
  ['worker/x.ts', 'UPDATE refund_work SET due_at = NULL'],
  ['shared/refunds/changes/flag.ts', 'await tx.refundWork.deleteMany({})'],
  ['prisma/functions/payments/x.sql', 'INSERT INTO\n  refund_work AS w'],
])('does not let %s write refund_work', (file, text) => {
  const writer = 'shared/refunds/changes/work.ts';
  const read = 'SELECT FROM refund_work FOR UPDATE; refundWork.findMany()';
  expect(
    workProblems(new Map([...[file, writer].map((each) => [each, text] as const), ['api/x.ts', read]])),
  ).toEqual([`${file} writes refund_work: only ${writer} and its SQL functions do`]);
});
