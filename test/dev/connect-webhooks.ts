import { openDatabase } from '../../shared/platform/database.ts';
import { sandboxControl } from '../sandbox/clients.ts';
import type { WebhookEndpoint } from '../sandbox/ledger.ts';
import { sandboxCredentials } from './sandbox-credentials.ts';

export interface WebhookConnection {
  databaseUrl: string;
  organizationId: string;
  sandboxUrl: string;
  /** Where the sandbox reaches the API. */
  apiUrl: string;
}

/** Has the sandbox tell the API of what becomes of refunds, as the processors do. */
export async function connectWebhooks(connection: WebhookConnection): Promise<void> {
  const { databaseUrl, organizationId, sandboxUrl, apiUrl } = connection;
  const db = openDatabase(databaseUrl, { poolSize: 1 });
  try {
    const accounts = await db.processorAccount.findMany({ where: { organizationId } });
    const webhooks = accounts.flatMap(({ id, environment, processor }): WebhookEndpoint[] => {
      const { stripe, braintree } = sandboxCredentials(environment);
      const url = `${apiUrl}/webhooks/${processor}/${id}`;
      if (processor === 'stripe') return [{ processor, environment, url, secret: stripe.webhookSecret }];
      if (processor !== 'braintree') return [];
      const { publicKey, privateKey } = braintree;
      return [{ processor, environment, url, publicKey, privateKey }];
    });
    await sandboxControl(sandboxUrl).settings({ webhooks });
  } finally {
    await db.$disconnect();
  }
}
