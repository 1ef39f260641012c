import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { migrationProblems } from '../../dev/checks/migration-rules.ts';

/** Both parts of the check; squawk reads its settings from .squawk.toml. */
function isRefused(sql: string): boolean {
  const squawk = spawnSync('node_modules/.bin/squawk', ['--reporter', 'gcc'], {
    input: sql,
    encoding: 'utf8',
  });
  if (squawk.error !== undefined) throw squawk.error;
  if (squawk.stdout.includes('syntax-error')) throw new Error(squawk.stdout);
  return squawk.status !== 0 || migrationProblems('migration.sql', sql).length > 0;
}

test.each([
  // Rewrites or scans a large table, or blocks its writers while it does.
  'ALTER TABLE refund ALTER COLUMN amount TYPE NUMERIC;',
  'ALTER TABLE refund ALTER COLUMN note SET NOT NULL;',
  'ALTER TABLE refund ADD COLUMN label UUID DEFAULT gen_random_uuid();',
  'ALTER TABLE refund ADD CONSTRAINT extra CHECK (amount > 0);',
  'ALTER TABLE refund ADD CONSTRAINT extra UNIQUE (note);',
  'ALTER TABLE refund ADD CONSTRAINT extra FOREIGN KEY (note) REFERENCES payment (id);',
  'ALTER TABLE refund ADD CONSTRAINT extra CHECK (amount > 0) NOT VALID; ALTER TABLE refund VALIDATE CONSTRAINT extra;',
  'CREATE INDEX extra ON refund (note);',
  `UPDATE refund SET note = '';`,
  'DELETE FROM refund_event;',
  'WITH old AS (SELECT 1) UPDATE refund SET note = NULL;',
  'DO $$ BEGIN UPDATE refund SET note = NULL; END $$;',
  // Breaks the version before.
  'ALTER TABLE refund ADD COLUMN label TEXT NOT NULL;',
  'ALTER TABLE refund DROP COLUMN note;',
  'ALTER TABLE refund DROP CONSTRAINT extra;',
  'ALTER TABLE refund ALTER COLUMN note DROP DEFAULT;',
  'ALTER TABLE refund RENAME COLUMN note TO label;',
  `ALTER TYPE environment RENAME VALUE 'test' TO 'sandbox';`,
  'DROP TABLE policy;',
  'DROP FUNCTION move_refunds(text);',
  // Cannot run within a transaction, or not twice.
  'CREATE INDEX CONCURRENTLY extra ON refund (note);',
  'ALTER TABLE refund ADD COLUMN label TEXT; CREATE INDEX CONCURRENTLY IF NOT EXISTS extra ON refund (label);',
])('refuses a migration that is %s', (sql) => {
  expect(isRefused(sql)).toBe(true);
});

test.each([
  'ALTER TABLE refund ADD COLUMN label TEXT;',
  `ALTER TABLE refund ADD COLUMN label TEXT NOT NULL DEFAULT '';`,
  'ALTER TABLE refund ADD CONSTRAINT extra CHECK (amount > 0) NOT VALID;',
  'ALTER TABLE refund VALIDATE CONSTRAINT extra;',
  'CREATE INDEX CONCURRENTLY IF NOT EXISTS extra ON refund (note);',
  'CREATE TABLE label (id TEXT PRIMARY KEY); CREATE INDEX label_id ON label (id);',
  'CREATE FUNCTION extra() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM label; END $$;',
  `-- DROP and RENAME are words here.\nALTER TABLE refund ADD COLUMN label TEXT DEFAULT 'UPDATE';`,
])('accepts %s', (sql) => {
  expect(isRefused(sql)).toBe(false);
});

test('accepts an exception that says why, for its own statement alone', () => {
  const reason = '-- allowed: nothing has called it since 0.2.0, two versions ago.';
  expect(isRefused(`${reason}\nDROP FUNCTION one(int);`)).toBe(false);
  expect(migrationProblems('m.sql', `${reason}\nDROP FUNCTION one(int);\n\nDROP FUNCTION two(int);`)).toEqual(
    [
      'm.sql:4: "DROP FUNCTION two(int)": the version before this one may still use it: remove it one version after its last use',
    ],
  );
  expect(migrationProblems('m.sql', '-- squawk-ignore ban-drop-table\nSELECT 1;')).toEqual([
    'm.sql:1: explain the exception in a comment above it',
  ]);
});
