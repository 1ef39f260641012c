import type { Dependencies } from '../dependencies.ts';
import { lockEndpoint } from './endpoint.ts';
import { openEndpointSecrets, secretColumns } from './endpoint-secrets.ts';

/**
 * Encrypts the secrets of every endpoint with the current encryption key.
 * @returns how many endpoints there are.
 * @throws SecretUnreadableError when the key of a secret is missing.
 */
export async function reencryptEndpointSecrets({
  db,
  clock,
  secrets,
}: Pick<Dependencies, 'db' | 'clock' | 'secrets'>): Promise<number> {
  const endpoints = await db.webhookEndpoint.findMany({
    where: { deletedAt: null },
    select: { id: true, organizationId: true, environment: true },
  });
  for (const { id, ...owner } of endpoints) {
    await db.$transaction(async (tx) => {
      const endpoint = await lockEndpoint(tx, owner, id);
      const opened = openEndpointSecrets(secrets, endpoint, clock.now());
      const data = secretColumns(secrets, id, opened, endpoint.previousSecretExpiresAt);
      await tx.webhookEndpoint.update({ where: { id }, data });
    });
  }
  return endpoints.length;
}
