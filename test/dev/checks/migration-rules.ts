/** What a migration needs a reason for that squawk does not look for: statements by their start or a word of them, and why. */
const rules: readonly { pattern: RegExp; why: string }[] = [
  {
    pattern: /\b(DROP|RENAME)\b/i,
    why: 'the version before this one may still use it: remove it one version after its last use',
  },
  {
    pattern: /^(UPDATE|DELETE|MERGE|TRUNCATE|WITH|DO|CALL|LOCK)\b/i,
    why: 'it locks rows until every migration has ended: change them in batches, outside of a migration',
  },
  {
    pattern: /\bINDEX CONCURRENTLY (?!IF )/i,
    why: 'write IF NOT EXISTS or IF EXISTS: a migration that was interrupted behind it runs again',
  },
];

/** A reason in a comment directly above the statement, or within it. */
const reason = /^\s*-- allowed: \S.{20,}/m;

/**
 * The statements of a migration that may break the running version before it or block its writes, a line each with its place.
 * A statement is accepted with a comment `-- allowed: <why it is safe>`, and squawk's own exception with a comment above it.
 */
export function migrationProblems(file: string, sql: string): string[] {
  const place = (index: number) => `${file}:${sql.slice(0, index).split('\n').length}`;
  const refused = statementsOf(sql).flatMap(({ start, bare, text }) =>
    rules
      .filter(({ pattern }) => pattern.test(bare) && !reason.test(text))
      .map(({ why }) => `${place(start)}: "${bare.slice(0, 60)}": ${why}`),
  );
  const unexplained = [...sql.matchAll(/(?<!^\s*--.*\n)^\s*-- squawk-ignore.*/gm)];
  return [
    ...refused,
    ...unexplained.map(({ index }) => `${place(index)}: explain the exception in a comment above it`),
  ];
}

interface Statement {
  /** Where it starts, behind comments. */
  start: number;
  /** On one line, without comments, strings and bodies of functions. */
  bare: string;
  /** As written, with the comments above it. */
  text: string;
}

function statementsOf(sql: string): Statement[] {
  const blanked = sql.replaceAll(/--[^\n]*|\/\*.*?\*\/|'[^']*'|\$(\w*)\$.*?\$\1\$/gs, blank);
  return [...blanked.matchAll(/[^;]+/g)].map(({ 0: text, index }) => ({
    start: index + text.search(/\S|$/),
    bare: text.trim().replaceAll(/\s+/g, ' '),
    text: sql.slice(index, index + text.length),
  }));
}

/** Keeps positions. */
function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}
