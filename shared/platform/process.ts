import { ConfigError } from './config.ts';
import { type Logger, redact } from './log.ts';

/** Runs a process's main function. An error at the start is printed on stderr, with exit code 1. */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${redact(describe(error))}\n`);
    process.exit(1);
  });
}

function describe(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `${error.message}: the port is in use. Stop the other process, or set PORT or METRICS_PORT.`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Closes the process on SIGTERM and SIGINT: `close` finishes what is running. A second signal or the time limit ends the
 * process at once; other workers then continue from the database.
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
        log.error({ err: error }, 'closing failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
