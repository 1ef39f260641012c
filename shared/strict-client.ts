import pg from 'pg';

/**
 * A PostgreSQL connection that is given up once a statement has not been answered within `query_timeout`. The pg
 * package would keep it, and the next statement, a ROLLBACK first of all, would wait behind the lost one for as long
 * again, while the pool hands out a connection that may have a transaction open.
 */
export class StrictClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    this.query = ((...args: unknown[]) => {
      const answer = query(...args);
      // With a callback instead of a promise the pool is the caller, and ends the connection itself.
      if (answer instanceof Promise) answer.catch((error: unknown) => this.#giveUpAfter(error));
      return answer;
    }) as typeof this.query;
  }

  #giveUpAfter(error: unknown): void {
    if (error instanceof Error && error.message === 'Query read timeout') void this.end().catch(() => {});
  }
}
