import type { AddressInfo } from 'node:net';
import type { ProcessorEvent, Refund } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { type ProcessorName, sandboxProcessors, webhookEndpoint } from '../../sandbox/processors.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import type { ApiAnswer, TestService } from '../service.ts';
import type { ReportedRefund, SignedWebhook } from './signed-webhooks.ts';

/** A service behind a real socket, where processors send to. */
export interface Webhooks {
  /** The address for the webhooks of one account. */
  addressOf(processor: ProcessorName, environment?: Environment, organizationId?: string): Promise<string>;
  /** Sends a webhook to the organization's test account, or to another address. */
  send(processor: ProcessorName, webhook: SignedWebhook, address?: string): Promise<ApiAnswer>;
  /** Has the sandbox send webhooks of the organization's test accounts. */
  connectSandbox(): Promise<void>;
  disconnectSandbox(): Promise<void>;
  events(): Promise<ProcessorEvent[]>;
}

/** Lets the service of a test file, or of a `describe` block, listen on a port of its own. */
export function useWebhooks(service: TestService): Webhooks {
  return madeBeforeTests('The address for webhooks', () => openWebhooks(service));
}

/** Lets a service listen. */
export async function openWebhooks(service: TestService): Promise<Webhooks> {
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = service.app.server.address() as AddressInfo;
  const addressOf: Webhooks['addressOf'] = async (
    processor,
    environment = 'test',
    organizationId = service.organization.id,
  ) => {
    const where = { organizationId, environment, processor };
    const { id } = await service.deps.db.processorAccount.findFirstOrThrow({ where });
    return `http://127.0.0.1:${port}/webhooks/${processor}/${id}`;
  };
  return {
    addressOf,
    async send(processor, { body, headers }, address) {
      const url = address ?? (await addressOf(processor));
      const response = await fetch(url, { method: 'POST', body, headers });
      return {
        status: response.status,
        body: await response.json(),
        headers: Object.fromEntries(response.headers),
      };
    },
    async connectSandbox() {
      const webhooks = await Promise.all(
        Object.values(sandboxProcessors).map(async (processor) =>
          webhookEndpoint(processor, 'test', await addressOf(processor.name as ProcessorName)),
        ),
      );
      await service.sandbox.settings({ webhooks });
    },
    async disconnectSandbox() {
      await service.sandbox.settings({ webhooks: [] });
    },
    events: () => service.deps.db.processorEvent.findMany({ orderBy: { receivedAt: 'asc' } }),
  };
}

/** What a webhook about a refund of ours names. */
export function reportOf({ id, externalRefundId, transactionId }: Refund): ReportedRefund {
  return { externalRefundId: externalRefundId ?? '', refundId: id, transactionId };
}
