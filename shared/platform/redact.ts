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
