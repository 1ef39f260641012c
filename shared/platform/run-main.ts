import { ConfigError } from './config.ts';
import { redact } from './redact.ts';

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
