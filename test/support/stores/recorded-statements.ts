import pg from 'pg';

/** A statement as it was sent, with the values of its parameters. */
export interface Statement {
  text: string;
  values: unknown[];
}

export interface Recording {
  /** What has been sent so far on connections that were opened after the beginning. */
  statements: Statement[];
  stop(): void;
}

/** Takes down every statement that this process sends with parameters, or could, to PostgreSQL; only one at a time. */
export function recordStatements(): Recording {
  const statements: Statement[] = [];
  const { prototype } = pg.Client;
  const query = prototype.query as (...args: unknown[]) => unknown;
  prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [config] = args as [{ text?: unknown; values?: unknown[] } | string];
    if (typeof config === 'object' && typeof config.text === 'string') {
      statements.push({ text: config.text, values: config.values ?? [] });
    }
    return query.apply(this, args);
  } as typeof prototype.query;
  const stop = () => {
    prototype.query = query as typeof prototype.query;
  };
  return { statements, stop };
}
