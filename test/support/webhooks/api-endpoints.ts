import { expect } from 'vitest';
import type { Prisma, WebhookDelivery } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import type { ParsedJson } from '../parsed-json.ts';
import type { ApiAnswer, TestService } from '../service.ts';

/** An endpoint as the response to its creation has it. */
export interface CreatedEndpoint {
  id: string;
  secret: string;
  [field: string]: ParsedJson;
}

/** Creates an endpoint through the API. */
export async function newEndpoint(
  service: TestService,
  { key, ...body }: { key?: string; url?: string; events?: string[]; description?: string | null } = {},
): Promise<CreatedEndpoint> {
  const answer = await service.call('POST', '/v1/webhook-endpoints', {
    body: { url: 'http://127.0.0.1:9/hooks', ...body },
    ...(key === undefined ? {} : { key }),
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.data;
}

/** Inserts a delivery of an invented event, as a worker left it. */
export async function storeDelivery(
  { deps }: TestService,
  endpointId: string,
  columns: Partial<Prisma.WebhookDeliveryUncheckedCreateInput> = {},
): Promise<WebhookDelivery> {
  return await deps.db.webhookDelivery.create({
    data: {
      ...{ id: newId('del'), endpointId, eventId: newId('evt'), type: 'refund.completed' },
      ...{ status: 'failed', nextAttemptAt: null, createdAt: new Date() },
      ...columns,
    },
  });
}

/** The status and the error of a response, for comparing both at once. */
export function refusalOf({ status, body }: ApiAnswer): [number, string, string] {
  return [status, body.error?.code, body.error?.message];
}
