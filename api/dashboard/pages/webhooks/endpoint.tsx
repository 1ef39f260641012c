import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import { pageOf } from '#shared/platform/cursor.ts';
import {
  deliveryStatuses,
  findDeliveries,
  replayDeliveries,
  sendTestEvent,
} from '#shared/webhooks/deliveries.ts';
import { type EndpointRequest, findEndpoint } from '#shared/webhooks/endpoint.ts';
import { changeEndpoint, deleteEndpoint, rotateSecret } from '#shared/webhooks/manage-endpoints.ts';
import { replayMissing } from '#shared/webhooks/replay-missing.ts';
import { actingIn, confirmed, contextOf } from '../../http/access.ts';
import { cursorIn } from '../../http/filter.ts';
import { leadTo, page } from '../../http/page.ts';
import { idInPath } from '../../http/paths.ts';
import { endpointSchema } from './endpoint-form.tsx';
import { Endpoint } from './endpoint-view.tsx';

const path = '/webhooks/:endpointId';
const pageLength = 25;

/** A malformed value shows all deliveries. */
const querySchema = z.object({
  status: z.enum(deliveryStatuses).optional().catch(undefined),
});

const rotationSchema = z.object({ overlapSeconds: z.coerce.number().int().min(0).max(604_800) });
const recoverySchema = z.object({ days: z.coerce.number().int().min(1) });
const statusSchema = z.object({ status: z.enum(['enabled', 'disabled']) });

/** `/webhooks/:endpointId`: an endpoint with its deliveries, and what can be done with both. */
export function endpointPages(scope: Api, deps: ApiDependencies): void {
  const admin = confirmed('admin');
  const asButton = { isButton: true };
  const endpoint = page(scope, path, 'operator', (request) => readEndpoint(deps, request), Endpoint);

  endpoint.form(path, admin, endpointSchema(deps.settings), async (request, entries) => {
    await changeEndpoint(deps, endpointOf(request), entries);
    return 'endpoint-saved';
  });

  endpoint.form(
    `${path}/status`,
    admin,
    statusSchema,
    async (request, { status }) => {
      await changeEndpoint(deps, endpointOf(request), { status });
      return `endpoint-${status}`;
    },
    asButton,
  );

  endpoint.form(
    `${path}/rotate-secret`,
    admin,
    rotationSchema,
    async (request, { overlapSeconds }) => await rotateSecret(deps, endpointOf(request), overlapSeconds),
    asButton,
  );

  endpoint.button(`${path}/delete`, admin, async (request) => {
    await deleteEndpoint(deps, endpointOf(request));
    return leadTo('/webhooks', 'endpoint-deleted');
  });

  endpoint.button(`${path}/test`, 'operator', async (request) => {
    await sendTestEvent(deps, endpointOf(request));
    return 'test-sent';
  });

  endpoint.form(
    `${path}/recover`,
    'operator',
    recoverySchema,
    async (request, { days }) => {
      const since = new Date(deps.clock.now().getTime() - days * 86_400_000 + 60_000);
      const of = endpointOf(request);
      const failed = await replayDeliveries(deps, { ...of, since, status: 'failed' });
      const missing = await replayMissing(deps, { ...of, since });
      return { recovered: failed + missing };
    },
    asButton,
  );
}

/** @throws ServiceError not_found for a malformed id. */
export function endpointOf(request: FastifyRequest): EndpointRequest {
  return { ...actingIn(request), endpointId: idInPath(request, 'endpointId', 'we') };
}

async function readEndpoint({ db, clock, settings }: ApiDependencies, request: FastifyRequest) {
  const { owner } = contextOf(request);
  const { endpointId } = endpointOf(request);
  const endpoint = await findEndpoint(db, owner, endpointId);
  const { status } = querySchema.parse(request.query);
  const cursor = cursorIn(request.query);
  const { rows, next } = await pageOf(
    { cursor, limit: pageLength },
    (before, limit) => findDeliveries(db, owner, endpointId, { status, before, limit }),
    ({ createdAt, delivery: { id } }) => ({ createdAt, id }),
  );
  const { createdBy } = endpoint;
  const names = await nameActors(db, owner.organizationId, createdBy === null ? [] : [createdBy]);
  return {
    ...{ endpoint, now: clock.now(), creator: createdBy && names.get(createdBy) },
    deliveries: { endpoint, status, cursor, next, deliveries: rows.map(({ delivery }) => delivery) },
    keptDays: settings.WEBHOOK_RETENTION_DAYS,
  };
}
