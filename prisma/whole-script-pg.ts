import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';

/**
 * Prisma's driver adapter cuts a script at every semicolon and sends the pieces over any connection of its pool. That
 * breaks function bodies, and a failure in the middle leaves half a migration. Here a script goes to the server as
 * one message, which PostgreSQL runs as one transaction.
 */
export class WholeScriptPg extends PrismaPg {
  /** What PostgreSQL said when a script failed: the engine only passes on that something did. */
  failure: Error | null = null;
  readonly #pool: pg.Pool;
  readonly #migrationScripts: ReadonlySet<string>;

  /** @param migrationScripts the scripts that shall record themselves as finished. */
  constructor(databaseUrl: string, migrationScripts: ReadonlySet<string>) {
    const pool = new pg.Pool({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000, max: 2 });
    super(pool);
    this.#pool = pool;
    this.#migrationScripts = migrationScripts;
  }

  override async connect() {
    const adapter = await super.connect();
    adapter.executeScript = (script) => this.#execute(script);
    return adapter;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #execute(script: string): Promise<void> {
    const recorded = this.#migrationScripts.has(script) ? `${script}\n;${recordAsFinished}` : script;
    try {
      await this.#pool.query(recorded);
    } catch (error) {
      this.failure = error as Error;
      throw error;
    }
  }
}

/** At most one migration is under way, because the caller holds the lock. */
const recordAsFinished =
  'update _prisma_migrations set finished_at = now() where finished_at is null and rolled_back_at is null';
