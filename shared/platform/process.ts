import { ConfigError } from './config.ts';
import type { Logger } from './log.ts';
import { redact } from './log.ts';

/** Runs a process's main function; what stops it from starting is told in plain lines on stderr, with exit code 1. */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${redact(describe(error))}\n`);
    process.exit(1);
  });
}

function describe(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `${error.message}: something else listens there. Stop it, or set PORT.`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

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
