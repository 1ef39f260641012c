declare module 'vitest' {
  interface ProvidedContext {
    // Provided by test/run/stores.ts.
    /** The PostgreSQL of this run, as superuser. */
    postgresUrl: string;
    /** The Redis of this run; null without redis-server. */
    redisUrl: string | null;
    // Provided by test/run/programs.ts, to tests of test/system alone.
    /** Null without a browser. */
    chromiumPath: string | null;
    /** The folder of the compiled service. */
    compiledFolder: string;
    /** Whether nginx is on PATH; false where no test needs it. */
    nginx: boolean;
    /** Docker Compose, as a command and its first arguments; null without an engine, and where no test needs it. */
    compose: string[] | null;
  }
}

/** The migrated database that is copied for every test file. */
export const templateDatabase = 'refund_template';
