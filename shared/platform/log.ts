import { type DestinationStream, type Logger, pino, type SerializedError, stdSerializers } from 'pino';
import { redact } from './redact.ts';

export type { Logger };

/** Names of fields whose values are never written, wherever they stand. */
const secretFields = [
  'authorization',
  'credentials',
  'secretKey',
  'privateKey',
  'webhookSecret',
  'password',
  'apiKey',
  'idempotencyKey',
];

/**
 * The process's log: one JSON object per line. Secret fields are left out by name and, because errors and processor
 * messages are free text, every finished line is masked by pattern as well.
 */
export function openLog(
  level: string,
  name: string,
  destination: DestinationStream = process.stdout,
): Logger {
  return pino(
    {
      name,
      level,
      serializers: { err: describeError },
      redact: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    { write: (line: string) => destination.write(redactLine(line)) },
  );
}

/** A warning that is written every ten seconds at most: a store that is gone is noticed many times a second. */
export function warnSparingly(log: Logger, message: string): (error: unknown) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - lastAt < 10_000) return;
    lastAt = performance.now();
    log.warn({ err: error }, message);
  };
}

/**
 * What is told of an error, its causes' words and stacks included. Libraries hang more on their errors, such as the command
 * with which a password was sent to Redis.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' ? 'something that is no error' : error;
  const { type, message, stack, code } = stdSerializers.err(error) as SerializedError & { code?: unknown };
  return { type, message, stack, code };
}

/** What every text has that `redact` changes; most lines have none of it. */
const suspicious = /svc_|[sr]k_|whsec_|_secret_|invite_|basic|bearer|:\/\/|\d[\d +%-]{12}/i;

/** Only texts are masked: a number, such as a duration with its many decimals, would leave the line no JSON. */
function redactLine(line: string): string {
  if (!suspicious.test(line)) return line;
  return line.replace(/"(?:[^"\\]|\\.)*"/g, redactToken);
}

/** An escape such as \n ends in a letter, which would hide where the word behind it begins. */
function redactToken(token: string): string {
  return token.includes('\\') ? JSON.stringify(redact(JSON.parse(token))) : redact(token);
}
