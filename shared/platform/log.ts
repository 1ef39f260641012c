import { type DestinationStream, type Logger, pino, type SerializedError, stdSerializers } from 'pino';
import { isQueueUnavailable, storeTroubleOf } from './store-errors.ts';

export type { Logger };

/** Fields whose values are never logged, at any depth. */
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

const secretField = new RegExp(`"(?:${secretFields.join('|')})":`);

/**
 * The process's log: one JSON object per line. Secret fields are redacted by name, and every line by pattern, because errors
 * and processor messages are free text.
 */
export function openLog(
  level: string,
  name: string,
  destination: DestinationStream = standardOutput(),
): Logger {
  return pino(
    {
      name,
      level,
      serializers: { err: describeError },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    { write: (line: string) => destination.write(redactLine(redactFields(line))) },
  );
}

/** Lines that cannot be written, as to a full disk or a reader that has gone, are lost: an unhandled error would end the process. */
function standardOutput(): DestinationStream {
  if (!process.stdout.listeners('error').includes(ignore)) process.stdout.on('error', ignore);
  return process.stdout;
}

const ignore = () => {};

/** Logs a warning every ten seconds at most: an unreachable store causes many errors a second. */
export function warnSparingly(log: Logger, message: string): (error: unknown) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - lastAt < 10_000) return;
    lastAt = performance.now();
    log.warn({ err: error }, message);
  };
}

/**
 * Only these fields of an error are logged. Libraries add others, such as the Redis command that contained a password. Expected
 * trouble has no stack: a store that is unreachable says nothing about the code that noticed it. `trouble` says what an error of
 * PostgreSQL or Redis means.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' ? 'not an Error' : error;
  const { type, message, stack, code } = stdSerializers.err(error) as SerializedError & { code?: unknown };
  if (isExpected(error)) {
    const trouble = storeTroubleOf(error) ?? undefined;
    return { type, message: message.replaceAll(/\s+/g, ' ').trim(), code, trouble };
  }
  return { type, message, stack, code };
}

function isExpected(error: Error): boolean {
  return isQueueUnavailable(error) || ('isExpected' in error && error.isExpected === true);
}

/** Only lines that name a secret field are parsed, which is cheaper than to look for each field in every entry. */
function redactFields(line: string): string {
  if (!secretField.test(line)) return line;
  const entry = JSON.parse(line, (name, value) => (secretFields.includes(name) ? '[redacted]' : value));
  return `${JSON.stringify(entry)}\n`;
}

/** Matches every text that `redact` changes, and few others. */
const suspicious = /svc_|[sr]k_|whsec_|_secret_|invite_|reset_|basic|bearer|:\/\/|\d[\d +%-]{12}/i;

/** A value as JSON for people to read, without secret fields, and redacted as a text: a number may be that of a card. */
export function redactJson(value: unknown): string {
  return redact(redactLine(redactFields(JSON.stringify(value))).trimEnd());
}

/** Only strings are redacted: a redacted number would make the line invalid JSON. */
function redactLine(line: string): string {
  if (!suspicious.test(line)) return line;
  return line.replace(/"(?:[^"\\]|\\.)*"/g, redactToken);
}

/** Escapes are decoded first: the letter of an escape such as \n would hide the start of the next word. */
function redactToken(token: string): string {
  return token.includes('\\') ? JSON.stringify(redact(JSON.parse(token))) : redact(token);
}

const patterns: readonly (readonly [RegExp, string])[] = [
  // Without a word boundary in front, because in a URL a letter or digit may precede it.
  [/svc_(live|test)_[A-Za-z0-9]+/g, 'svc_$1_[redacted]'],
  // Stripe repeats a wrong key with asterisks in the middle; its last characters are secret, too.
  [/([sr]k)_(live|test)_[\w*]+/g, '$1_$2_[redacted]'],
  [/whsec_[A-Za-z0-9+/_=-]+/g, 'whsec_[redacted]'],
  // Client secrets of Stripe: pi_..._secret_...
  [/_secret_[\w%]+/g, '_secret_[redacted]'],
  [/(invite|reset)_[\w-]{20,}/g, '$1_[redacted]'],
  [/\b(Basic|Bearer) +[A-Za-z0-9+/._~=-]{16,}/gi, '$1 [redacted]'],
];

/** From a scheme to the end of the word. */
const url = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>]*)/gi;

/** 13 digits or more, also in groups. */
const digits = /(?<!\d)\d(?:(?:[ +-]|%20|%2B|%2D)?\d){12,}/gi;

/**
 * Redacts secrets in a text: API keys, processors' keys, webhook and client secrets, invitation tokens, HTTP credentials,
 * passwords in URLs, and card numbers. Other numbers stay.
 */
export function redact(text: string): string {
  return patterns
    .reduce(
      (masked, [pattern, replacement]) => masked.replace(pattern, replacement),
      text.replace(url, maskUserInfo),
    )
    .replace(digits, (run, at: number, whole: string) => {
      // After a percent sign, the first two digits belong to an escape.
      const isEscaped = whole[at - 1] === '%';
      return holdsCardNumber(run) || (isEscaped && holdsCardNumber(run.slice(2))) ? '[digits redacted]' : run;
    });
}

/** True when consecutive groups of digits form a card number. A group that is longer than any card number may contain one. */
function holdsCardNumber(run: string): boolean {
  const groups = run.split(/[ +-]|%20|%2B|%2D/i);
  return groups.some((group, first) => {
    if (group.length > 19) return true;
    let number = '';
    for (const next of groups.slice(first, first + 19)) {
      number += next;
      if (number.length > 19) return false;
      if (number.length >= 13 && passesLuhn(number)) return true;
    }
    return false;
  });
}

/** The Luhn checksum. */
function passesLuhn(number: string): boolean {
  const sum = [...number].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** Up to the last @, because a password may contain one. */
function maskUserInfo(_url: string, scheme: string, rest: string): string {
  const at = rest.lastIndexOf('@');
  return at === -1 ? `${scheme}${rest}` : `${scheme}[redacted]${rest.slice(at)}`;
}
