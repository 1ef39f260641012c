import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { ServiceSettings } from '../config.ts';

/** SHA-256, as the columns of hashes store it. */
export function sha256(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(createHash('sha256').update(text).digest());
}

/** The keys that may have encrypted or signed something, the current one first. */
export function encryptionKeys(settings: EncryptionSettings): [string, ...string[]] {
  return [settings.ENCRYPTION_KEY, ...settings.ENCRYPTION_PREVIOUS_KEYS];
}

/** The settings that name encryption keys. */
export type EncryptionSettings = Pick<ServiceSettings, 'ENCRYPTION_KEY' | 'ENCRYPTION_PREVIOUS_KEYS'>;

/** Encrypted text, with the id of its key. */
interface Sealed {
  keyId: string;
  /** Nonce (12 bytes), authentication tag (16 bytes), ciphertext. */
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Encrypts secrets at rest with AES-256-GCM. The context is authenticated: bytes copied to another row cannot be decrypted. New
 * secrets use the first key, old ones the key with their key id.
 */
export class SecretBox {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #currentKeyId: string;

  /** @param keys 32 bytes each in base64, the current one first. */
  constructor(keys: readonly [string, ...string[]]) {
    const entries = keys.map((key): [string, Buffer] => {
      const bytes = Buffer.from(key, 'base64');
      return [createHash('sha256').update(bytes).digest('hex').slice(0, 12), bytes];
    });
    this.#keys = new Map(entries);
    this.#currentKeyId = entries[0]?.[0] ?? '';
  }

  seal(text: string, context: string): Sealed {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#currentKeyId), nonce).setAAD(
      Buffer.from(context),
    );
    const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return {
      keyId: this.#currentKeyId,
      bytes: Uint8Array.from(Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])),
    };
  }

  /** @throws SecretUnreadableError for an unknown key, or when the bytes or the context were changed. */
  open(sealed: { keyId: string; bytes: Uint8Array }, context: string): string {
    const bytes = Buffer.from(sealed.bytes);
    const key = this.#key(sealed.keyId);
    try {
      // Without a length, Node also accepts the first four bytes of a tag.
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(12, 28));
      return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      throw new SecretUnreadableError('A stored secret does not match its row.');
    }
  }

  #key(keyId: string): Buffer {
    const key = this.#keys.get(keyId);
    if (key === undefined) {
      throw new SecretUnreadableError(
        `No encryption key ${keyId}: add it to ENCRYPTION_PREVIOUS_KEYS, or store the credentials again.`,
      );
    }
    return key;
  }
}

/** A stored secret that cannot be decrypted. The message has nothing of it. */
export class SecretUnreadableError extends Error {
  override readonly name = 'SecretUnreadableError';
}
