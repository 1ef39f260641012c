import pg from 'pg';

/**
 * A PostgreSQL connection that is given up once a statement has not been answered within `query_timeout`. The pg
 * package would keep it, and the next statement, a ROLLBACK first of all, would wait behind the lost one for as long
 * again, while the pool hands out a connection that may have a transaction open.
 *
 * One that is ended by PostgreSQL fails the statement that comes next, and never the process.
 */
export class StrictClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    // The pool listens to idle connections and Prisma to those that it uses. On the way from the one to the other
    // nobody does, and Node ends a process for an error that nobody listens to.
    this.on('error', () => {});
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
