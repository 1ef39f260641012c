import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/people/actors.ts';
import {
  type DeliveryStatus,
  deliveryStatuses,
  listDeliveries,
  replayDeliveries,
  sendTestEvent,
} from '#shared/webhooks/deliveries.ts';
import { type EndpointRequest, findEndpoint, hostOf } from '#shared/webhooks/endpoint.ts';
import { changeEndpoint, deleteEndpoint, rotateSecret } from '#shared/webhooks/manage-endpoints.ts';
import { replayMissing } from '#shared/webhooks/replay-missing.ts';
import { contextOf } from '../../http/access.ts';
import { readChoices } from '../../http/forms.ts';
import { idInPath } from '../../http/paths.ts';
import { sendPage, sendPart } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { Frame } from '../../layout/frame.tsx';
import { DeliveriesPart } from './delivery-list.tsx';
import { readEndpointForm } from './endpoint-form.tsx';
import { Endpoint, type EndpointState, type EndpointView } from './endpoint-view.tsx';
import { EndpointBadge } from './webhooks.tsx';

const path = '/webhooks/:endpointId';
const pageLength = 25;
const operator = { config: { role: 'operator' as const } };
const admin = { config: { role: 'admin' as const, confirm: true as const } };

/** A malformed value shows all deliveries, or the first page. */
const querySchema = z.object({
  status: z.enum(deliveryStatuses).optional().catch(undefined),
  offset: z.coerce.number().int().min(0).max(1_000_000).catch(0),
});

const rotationSchema = z.object({ overlapSeconds: z.coerce.number().int().min(0).max(604_800) });
const recoverySchema = z.object({ days: z.coerce.number().int().min(1) });
const statusSchema = z.object({ status: z.enum(['enabled', 'disabled']) });

/** `/webhooks/:endpointId`: an endpoint with its deliveries, and what can be done with both. */
export function endpointPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, operator, async (request, reply) => {
    const isPart = request.headers['hx-request'] === 'true';
    if (!isPart) return await show(deps, request, reply, {});
    return sendPart(reply, <DeliveriesPart {...(await readDeliveries(deps, request))} />);
  });

  changeRoutes(scope, deps);

  scope.post(`${path}/test`, operator, async (request, reply) => {
    await sendTestEvent(deps, endpointOf(request));
    return reply.redirect(doneAt(addressOf(request), 'test-sent'), 303);
  });

  scope.post(`${path}/recover`, operator, async (request, reply) => {
    const { days } = readChoices(recoverySchema, request.body);
    const since = new Date(deps.clock.now().getTime() - days * 86_400_000 + 60_000);
    const endpoint = endpointOf(request);
    const failed = await replayDeliveries(deps, { ...endpoint, since, status: 'failed' });
    const missing = await replayMissing(deps, { ...endpoint, since });
    return await show(deps, request, reply, { recovered: failed + missing });
  });
}

/** What changes an endpoint. */
function changeRoutes(scope: Api, deps: ApiDependencies): void {
  scope.post(path, admin, async (request, reply) => {
    const form = readEndpointForm(request.body, deps.settings.NODE_ENV === 'production');
    if (form.kind === 'invalid') {
      const { problems } = form;
      return await show(deps, request, reply.code(400), { form: { body: request.body, problems } });
    }
    await changeEndpoint(deps, endpointOf(request), form.value);
    return reply.redirect(doneAt(addressOf(request), 'endpoint-saved'), 303);
  });

  scope.post(`${path}/status`, admin, async (request, reply) => {
    const { status } = readChoices(statusSchema, request.body);
    await changeEndpoint(deps, endpointOf(request), { status });
    return reply.redirect(doneAt(addressOf(request), `endpoint-${status}`), 303);
  });

  scope.post(`${path}/rotate-secret`, admin, async (request, reply) => {
    const { overlapSeconds } = readChoices(rotationSchema, request.body);
    const { secret } = await rotateSecret(deps, endpointOf(request), overlapSeconds);
    return await show(deps, request, reply, { secret });
  });

  scope.post(`${path}/delete`, admin, async (request, reply) => {
    await deleteEndpoint(deps, endpointOf(request));
    return reply.redirect(doneAt(`${contextOf(request).base}/webhooks`, 'endpoint-deleted'), 303);
  });
}

/** @throws ServiceError not_found for a malformed id. */
export function endpointOf(request: FastifyRequest): EndpointRequest {
  const { owner, actor } = contextOf(request);
  return { ...owner, actor, endpointId: idInPath(request, 'endpointId', 'we') };
}

function addressOf(request: FastifyRequest): string {
  return `${contextOf(request).base}/webhooks/${endpointOf(request).endpointId}`;
}

async function readDeliveries({ db }: ApiDependencies, request: FastifyRequest) {
  const context = contextOf(request);
  const { endpointId } = endpointOf(request);
  const { status, offset }: { status?: DeliveryStatus | undefined; offset: number } = querySchema.parse(
    request.query,
  );
  const page = await listDeliveries(db, context.owner, endpointId, { status, offset, limit: pageLength });
  return { context, endpointId, status, offset, page };
}

async function show(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  state: EndpointState,
): Promise<FastifyReply> {
  const { db, clock, settings } = deps;
  const context = contextOf(request);
  const endpoint = await findEndpoint(db, context.owner, endpointOf(request).endpointId);
  const { createdBy, url } = endpoint;
  const names = await nameActors(db, context.organization.id, createdBy === null ? [] : [createdBy]);
  const view: EndpointView = {
    ...{ context, endpoint, now: clock.now(), deliveries: await readDeliveries(deps, request) },
    ...{ creator: createdBy && (names.get(createdBy) ?? null), keptDays: settings.WEBHOOK_RETENTION_DAYS },
  };
  const part = <Endpoint {...view} {...state} />;
  if (request.headers['hx-request'] === 'true') return sendPart(reply, part);
  return sendPage(
    reply,
    <Frame
      context={context}
      title={hostOf(url)}
      section="webhooks"
      beside={<EndpointBadge endpoint={endpoint} />}
    >
      {part}
    </Frame>,
  );
}
