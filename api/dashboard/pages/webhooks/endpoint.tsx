import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import {
  deliveryStatuses,
  listDeliveries,
  replayDeliveries,
  sendTestEvent,
} from '#shared/webhooks/deliveries.ts';
import { type EndpointRequest, findEndpoint, hostOf } from '#shared/webhooks/endpoint.ts';
import { changeEndpoint, deleteEndpoint, rotateSecret } from '#shared/webhooks/manage-endpoints.ts';
import { replayMissing } from '#shared/webhooks/replay-missing.ts';
import { actingIn, contextOf, needs } from '../../http/access.ts';
import { type FormState, readChoices } from '../../http/forms.ts';
import { idInPath } from '../../http/paths.ts';
import { isForPart } from '../../http/render.ts';
import { changesOf } from '../../layout/changes.ts';
import { Frame } from '../../layout/frame.tsx';
import { DeliveriesPart } from './delivery-list.tsx';
import { endpointSchema, inSentences } from './endpoint-form.tsx';
import { Endpoint, type EndpointState } from './endpoint-view.tsx';
import { EndpointBadge } from './webhooks.tsx';

const path = '/webhooks/:endpointId';
const pageLength = 25;

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
  const confirmed = needs('admin', 'confirmed');
  const show = async (reply: FastifyReply, state: EndpointState) => {
    const { owner } = contextOf(reply.request);
    const deliveries = await readDeliveries(deps, reply.request);
    const { endpoint } = deliveries;
    const { createdBy, url } = endpoint;
    const names = await nameActors(deps.db, owner.organizationId, createdBy === null ? [] : [createdBy]);
    const view = {
      ...{ endpoint, deliveries, now: deps.clock.now() },
      creator: createdBy && names.get(createdBy),
      keptDays: deps.settings.WEBHOOK_RETENTION_DAYS,
    };
    return reply.send(
      <Frame title={hostOf(url)} section="webhooks" beside={<EndpointBadge endpoint={endpoint} />}>
        <Endpoint {...view} {...state} />
      </Frame>,
    );
  };
  const change = changesOf(scope, path);

  scope.get(path, needs('operator'), async (request, reply) => {
    // The deliveries update themselves.
    if (!isForPart(request)) return await show(reply, {});
    return reply.send(<DeliveriesPart {...(await readDeliveries(deps, request))} />);
  });

  const again = (reply: FastifyReply, form: FormState) => show(reply, { form: inSentences(form) });
  const saving = { ...confirmed, schema: endpointSchema(deps.settings), again };
  change(path, saving, 'endpoint-saved', (request, entries) =>
    changeEndpoint(deps, endpointOf(request), entries),
  );

  change(
    `${path}/status`,
    { ...confirmed, schema: statusSchema },
    ({ status }) => `endpoint-${status}`,
    (request, { status }) => changeEndpoint(deps, endpointOf(request), { status }),
  );

  scope.post(`${path}/rotate-secret`, confirmed, async (request, reply) => {
    const { overlapSeconds } = readChoices(rotationSchema, request.body);
    const { secret } = await rotateSecret(deps, endpointOf(request), overlapSeconds);
    return await show(reply, { secret });
  });

  const changeInList = changesOf(scope, '/webhooks');
  changeInList(`${path}/delete`, confirmed, 'endpoint-deleted', (request) =>
    deleteEndpoint(deps, endpointOf(request)),
  );

  change(`${path}/test`, needs('operator'), 'test-sent', (request) =>
    sendTestEvent(deps, endpointOf(request)),
  );

  scope.post(`${path}/recover`, needs('operator'), async (request, reply) => {
    const { days } = readChoices(recoverySchema, request.body);
    const since = new Date(deps.clock.now().getTime() - days * 86_400_000 + 60_000);
    const endpoint = endpointOf(request);
    const failed = await replayDeliveries(deps, { ...endpoint, since, status: 'failed' });
    const missing = await replayMissing(deps, { ...endpoint, since });
    return await show(reply, { recovered: failed + missing });
  });
}

/** @throws ServiceError not_found for a malformed id. */
export function endpointOf(request: FastifyRequest): EndpointRequest {
  return { ...actingIn(request), endpointId: idInPath(request, 'endpointId', 'we') };
}

async function readDeliveries({ db }: ApiDependencies, request: FastifyRequest) {
  const { owner } = contextOf(request);
  const { endpointId } = endpointOf(request);
  const endpoint = await findEndpoint(db, owner, endpointId);
  const { status, offset } = querySchema.parse(request.query);
  const page = await listDeliveries(db, owner, endpointId, { status, offset, limit: pageLength });
  return { endpoint, status, offset, page };
}
