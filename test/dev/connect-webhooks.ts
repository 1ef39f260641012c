import { openDatabase } from '#shared/platform/database.ts';
import { sandboxControl } from '../sandbox/clients.ts';
import { sandboxProcessors, webhookEndpoint } from '../sandbox/processors.ts';

export interface WebhookConnection {
  databaseUrl: string;
  organizationId: string;
  sandboxUrl: string;
  /** The address of the API for the sandbox. */
  apiUrl: string;
}

/** Makes the sandbox send its webhooks to the API. */
export async function connectWebhooks(connection: WebhookConnection): Promise<void> {
  const { databaseUrl, organizationId, sandboxUrl, apiUrl } = connection;
  const db = openDatabase(databaseUrl, { poolSize: 1 });
  try {
    // Events about connected accounts are sent to the address of their parent.
    const accounts = await db.processorAccount.findMany({ where: { organizationId, parentId: null } });
    const webhooks = Object.values(sandboxProcessors).flatMap((processor) =>
      accounts
        .filter((account) => account.processor === processor.name)
        .map(({ id, environment }) =>
          webhookEndpoint(processor, environment, `${apiUrl}/webhooks/${processor.name}/${id}`),
        ),
    );
    await sandboxControl(sandboxUrl).settings({ webhooks });
  } finally {
    await db.$disconnect();
  }
}
