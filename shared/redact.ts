const patterns: readonly (readonly [RegExp, string])[] = [
  // No boundary is asked for in front: in a URL or after an escape there is a letter or a digit.
  [/svc_(live|test)_[A-Za-z0-9]+/g, 'svc_$1_[redacted]'],
  // Stripe itself repeats a wrong key with stars in the middle, and its last letters are a part of it all the same.
  [/([sr]k)_(live|test)_[\w*]+/g, '$1_$2_[redacted]'],
  [/whsec_[A-Za-z0-9+/_=-]+/g, 'whsec_[redacted]'],
  [/invite_[\w-]{20,}/g, 'invite_[redacted]'],
  [/\b(Basic|Bearer) +[A-Za-z0-9+/._~=-]{16,}/gi, '$1 [redacted]'],
  // 13 digits or more, also in groups: what a card number looks like.
  [/(?<!\d)\d(?:(?:[ +-]|%20|%2B|%2D)?\d){12,}/gi, '[digits redacted]'],
];

/** From a scheme to the end of the word: each word is looked at once, however many schemes it holds. */
const url = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"'<>]*)/gi;

/**
 * Masks in a text what must not leave the service by accident: API keys, processors' keys and webhook secrets,
 * tokens of invitations, credentials of HTTP, passwords in URLs, and card-like numbers.
 */
export function redact(text: string): string {
  return patterns.reduce(
    (masked, [pattern, replacement]) => masked.replace(pattern, replacement),
    text.replace(url, maskUserInfo),
  );
}

/** Up to the last @, because a password may hold one. */
function maskUserInfo(_url: string, scheme: string, rest: string): string {
  const at = rest.lastIndexOf('@');
  return at === -1 ? `${scheme}${rest}` : `${scheme}[redacted]${rest.slice(at)}`;
}
