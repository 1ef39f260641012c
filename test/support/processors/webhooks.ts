import type { Refund } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { type ProcessorName, sandboxProcessors, webhookEndpoint } from '../../sandbox/processors.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import type { ApiAnswer, TestService } from '../service.ts';
import type { ReportedRefund, SignedWebhook } from './signed-webhooks.ts';

export type Webhooks = Awaited<ReturnType<typeof openWebhooks>>;

/** Lets the service of a test file, or of a `describe` block, listen on a port of its own. */
export function useWebhooks(service: TestService): Webhooks {
  return madeBeforeTests('The address for webhooks', () => openWebhooks(service));
}

/** Lets a service listen at a real socket, where processors send to. */
export async function openWebhooks(service: TestService) {
  const url = await service.url();
  /** The address for the webhooks of one account. */
  const addressOf = async (
    processor: ProcessorName,
    environment: Environment = 'test',
    organizationId = service.organization.id,
  ) => {
    const where = { organizationId, environment, processor };
    const { id } = await service.deps.db.processorAccount.findFirstOrThrow({ where });
    return `${url}/webhooks/${processor}/${id}`;
  };
  return {
    addressOf,
    /** Sends a webhook to the organization's test account, or to another address. */
    async send(processor: ProcessorName, webhook: SignedWebhook, address?: string): Promise<ApiAnswer> {
      const to = address ?? (await addressOf(processor));
      const response = await fetch(to, { method: 'POST', ...webhook });
      const headers = Object.fromEntries(response.headers);
      return { status: response.status, body: await response.json(), headers };
    },
    /** Has the sandbox send webhooks of the organization's test accounts. */
    async connectSandbox() {
      const webhooks = await Promise.all(
        Object.values(sandboxProcessors).map(async (processor) =>
          webhookEndpoint(processor, 'test', await addressOf(processor.name as ProcessorName)),
        ),
      );
      await service.sandbox.settings({ webhooks });
    },
    disconnectSandbox: () => service.sandbox.settings({ webhooks: [] }),
    events: () => service.deps.db.processorEvent.findMany({ orderBy: { receivedAt: 'asc' } }),
  };
}

/** What a webhook about a refund of ours names. */
export function reportOf({ id, externalRefundId, transactionId }: Refund): ReportedRefund {
  return { externalRefundId: externalRefundId ?? '', refundId: id, transactionId };
}
