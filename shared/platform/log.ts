import { type DestinationStream, type Logger, pino, type SerializedError, stdSerializers } from 'pino';

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

const patterns: readonly (readonly [RegExp, string])[] = [
  // No boundary is asked for in front: in a URL or after an escape there is a letter or a digit.
  [/svc_(live|test)_[A-Za-z0-9]+/g, 'svc_$1_[redacted]'],
  // Stripe itself repeats a wrong key with stars in the middle, and its last letters are a part of it all the same.
  [/([sr]k)_(live|test)_[\w*]+/g, '$1_$2_[redacted]'],
  [/whsec_[A-Za-z0-9+/_=-]+/g, 'whsec_[redacted]'],
  // Client secrets of Stripe: pi_..._secret_...
  [/_secret_[\w%]+/g, '_secret_[redacted]'],
  [/invite_[\w-]{20,}/g, 'invite_[redacted]'],
  [/\b(Basic|Bearer) +[A-Za-z0-9+/._~=-]{16,}/gi, '$1 [redacted]'],
];

/** From a scheme to the end of the word: each word is looked at once, however many schemes it holds. */
const url = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>]*)/gi;

/** 13 digits or more, also in groups. */
const digits = /(?<!\d)\d(?:(?:[ +-]|%20|%2B|%2D)?\d){12,}/gi;

/**
 * Masks in a text what must not leave the service by accident: API keys, processors' keys, webhook and client secrets,
 * tokens of invitations, credentials of HTTP, passwords in URLs, and card numbers. Other numbers stay, however long.
 */
export function redact(text: string): string {
  return patterns
    .reduce(
      (masked, [pattern, replacement]) => masked.replace(pattern, replacement),
      text.replace(url, maskUserInfo),
    )
    .replace(digits, (run, at: number, whole: string) => {
      // Behind a percent sign, the first two digits are an escape's.
      const isEscaped = whole[at - 1] === '%';
      return holdsCardNumber(run) || (isEscaped && holdsCardNumber(run.slice(2))) ? '[digits redacted]' : run;
    });
}

/** Whether whole groups of digits, one after the other, make a card number. More digits than any has may hold one. */
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

/** The checksum of card numbers: from the end, every second digit counts double, and its digits one by one. */
function passesLuhn(number: string): boolean {
  const sum = [...number].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** Up to the last @, because a password may hold one. */
function maskUserInfo(_url: string, scheme: string, rest: string): string {
  const at = rest.lastIndexOf('@');
  return at === -1 ? `${scheme}${rest}` : `${scheme}[redacted]${rest.slice(at)}`;
}
