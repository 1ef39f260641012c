import { prepareDatabase } from '#prisma/prepare-database.ts';

/** The database as the service uses it. Its role has the password of the owner. */
export function asService(ownerUrl: string): string {
  const url = new URL(ownerUrl);
  url.username = 'refunds_service';
  return url.href;
}

/** Migrates a database with queues, and creates the role of the service. */
export async function prepareForTests(ownerUrl: string): Promise<void> {
  await prepareDatabase({ ownerUrl, serviceUrl: asService(ownerUrl), redisUrl: null, log: () => {} });
}
