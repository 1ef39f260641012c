import type { Logger } from './log.ts';

/**
 * Ends the process in order on SIGTERM and SIGINT: `close` finishes what runs; a second signal, or running over the
 * time limit, ends it at once. Whatever is cut off then is picked up from the database by others.
 */
export function closeOnSignal(log: Logger, timeoutMs: number, close: () => Promise<void>): void {
  let closing = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (closing) process.exit(1);
    closing = true;
    log.info({ signal }, 'closing');
    setTimeout(() => process.exit(1), timeoutMs).unref();
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'could not close in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
