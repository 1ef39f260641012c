import { Secret, TOTP } from 'otpauth';
import { sha256 } from '../../platform/secrets/secrets.ts';

/** A new secret for an authenticator app: 160 bits in base32, as RFC 4226 recommends. */
export function newSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** The parameters of RFC 6238 that every authenticator app supports. */
function totpOf(secret: string, email = ''): TOTP {
  const parameters = { algorithm: 'SHA1', digits: 6, period: 30 };
  return new TOTP({ issuer: 'Refunds', label: email, secret: Secret.fromBase32(secret), ...parameters });
}

/** The address that authenticator apps read from a QR code. */
export function otpauthUri(secret: string, email: string): string {
  return totpOf(secret, email).toString();
}

/**
 * The time step of a code, counted in 30 s since 1970. The clock of the device may be one step ahead or behind.
 * @returns null for a code of no such step.
 */
export function stepOfCode(secret: string, code: string, now: Date): number | null {
  const totp = totpOf(secret);
  const timestamp = now.getTime();
  const delta = totp.validate({ token: code, timestamp, window: 1 });
  return delta === null ? null : totp.counter({ timestamp }) + delta;
}

const recoveryCodeCount = 10;
/** Long enough that a plain hash protects it: 80 bits, 16 letters and digits. */
const recoveryCodeBytes = 10;

/** New recovery codes, such as `ABCD-EFGH-JKMN-PQRS`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodeCount }, () =>
    new Secret({ size: recoveryCodeBytes }).base32.replace(/.{4}(?=.)/g, '$&-'),
  );
}

/** A code as it was typed, without spaces and dashes and in capitals. */
export function normalizedCode(text: string): string {
  return text.toUpperCase().replace(/[\s-]/g, '');
}

/** SHA-256 of a recovery code or a set-up code, however it was typed. */
export function hashOfCode(code: string): Uint8Array<ArrayBuffer> {
  return sha256(normalizedCode(code));
}
