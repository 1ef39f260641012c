import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Text that was encrypted, with the name of the key that did it. */
export interface Sealed {
  keyId: string;
  /** Nonce (12 bytes), authentication tag (16 bytes), ciphertext. */
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Encrypts secrets at rest with AES-256-GCM. The context is authenticated with the text: bytes that were moved to
 * another row do not open. New secrets use the first key, old ones open with the key that they name.
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

  /** @throws SecretUnreadableError when the key is not among ours, or text or context are not what was sealed. */
  open(sealed: { keyId: string; bytes: Uint8Array }, context: string): string {
    const bytes = Buffer.from(sealed.bytes);
    const key = this.#key(sealed.keyId);
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(12, 28));
      return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      throw new SecretUnreadableError('A stored secret does not belong to its row.');
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

/** A secret at rest that cannot be opened; the message holds nothing of it. */
export class SecretUnreadableError extends Error {
  override readonly name = 'SecretUnreadableError';
}
