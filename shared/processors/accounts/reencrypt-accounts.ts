import type { Dependencies } from '../../dependencies.ts';
import { credentialContext } from './connections.ts';

/**
 * Encrypts the credentials of every processor account with the current encryption key.
 * @returns how many accounts there are.
 * @throws SecretUnreadableError when the key of an account is missing.
 */
export async function reencryptAccountCredentials({
  db,
  secrets,
}: Pick<Dependencies, 'db' | 'secrets'>): Promise<number> {
  const accounts = await db.processorAccount.findMany();
  for (const account of accounts) {
    const { id, updatedAt, encryptionKeyId: keyId, encryptedCredentials: bytes } = account;
    const context = credentialContext(account);
    const sealed = secrets.seal(secrets.open({ keyId, bytes }, context), context);
    await db.processorAccount.updateMany({
      // Credentials that were replaced meanwhile are encrypted with the current key already.
      where: { id, updatedAt },
      data: { encryptedCredentials: sealed.bytes, encryptionKeyId: sealed.keyId },
    });
  }
  return accounts.length;
}
