// What the servers of one test run offer to every test file; test/global-setup.ts provides it.
declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser on the PostgreSQL of this run. */
    postgresUrl: string;
    /** Redis of this run, shared by all files; null when there is no redis-server on this machine. */
    redisUrl: string | null;
    /** The browser of this machine; null when there is none. */
    chromiumPath: string | null;
    /** The service as it is deployed, for tests that start processes of it: a folder with its JavaScript. */
    compiledFolder: string;
    /** Whether a test can have a disk of its own, to fill it up. */
    disks: boolean;
  }
}

/** The database that is migrated once and copied for every test file. */
export const templateDatabase = 'refund_template';
