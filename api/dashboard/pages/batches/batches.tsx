import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { admit, openClass } from '#api/http/admission.ts';
import { uploadBody } from '#api/http/body.ts';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { readRows } from '#api/operations/batch-rows.ts';
import { batchLimitBytes } from '#api/operations/refund-batches.ts';
import { nameActors } from '#shared/audit/actors.ts';
import { batchModes, countRefundsOf, findBatch, findBatches, readResults } from '#shared/batches/batch.ts';
import { createBatch } from '#shared/batches/create-batch.ts';
import { readCsvRows, resultsInCsv } from '#shared/batches/csv.ts';
import { dismissBatch, pauseBatch, resumeBatch } from '#shared/batches/pause.ts';
import { pageOf } from '#shared/platform/cursor.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { type Context, confirmed, contextOf, needs } from '../../http/access.ts';
import { isConfirmedLately } from '../../http/confirmation.ts';
import { cursorIn } from '../../http/filter.ts';
import { entered } from '../../http/forms.ts';
import { leadTo, page } from '../../http/page.ts';
import { BatchPage } from './batch-page.tsx';
import { BatchesPage } from './batches-page.tsx';

const pageLength = 25;
/** How many files are read at once, because each takes much memory. */
const mostFiles = 4;
/** Rejected rows that the page of a batch shows; the file has all. */
const shownRows = 100;

/** `/batches`: the refund batches, the upload of a CSV file, and one batch with its progress. */
export async function batchPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const batches = page(scope, '/batches', 'viewer', (request) => readBatches(deps, request), BatchesPage);
  // A file is too large to be held until the user has confirmed.
  batches.button('/batches/confirm', confirmed('operator'), async () => 'confirmed');

  await scope.register(async (uploads: Api) => {
    const files = openClass(mostFiles);
    admit(uploads, (request) => ({ class: files, owner: contextOf(request).organization.id }));
    uploadBody(uploads);
    limitBody(uploads, batchLimitBytes);
    const upload = async (request: FastifyRequest) => {
      if (!isConfirmedLately(deps, request)) {
        const message = 'Confirm your identity under Batches, then upload the file again.';
        throw new ServiceError('insufficient_scope', message);
      }
      const { batch, isReplayed } = await createFrom(deps, contextOf(request), request.body);
      return leadTo(`/batches/${batch.id}`, isReplayed ? 'batch-repeated' : 'batch-created');
    };
    batches.form('/batches', 'operator', z.unknown(), upload, { scope: uploads });
  });

  const batch = page(scope, '/batches/:id', 'viewer', (request) => readBatch(deps, request), BatchPage);
  batch.button('/batches/:id/pause', 'operator', async (request) => {
    await pauseBatch(deps, batchIn(request));
    return 'batch-paused';
  });
  batch.button('/batches/:id/dismiss', 'operator', async (request) => {
    await dismissBatch(deps, batchIn(request));
    return 'batch-dismissed';
  });
  batch.button('/batches/:id/resume', confirmed('operator'), async (request) => {
    await resumeBatch(deps, batchIn(request));
    return 'batch-resumed';
  });

  scope.get('/batches/:id/results', needs('viewer'), async (request, reply) => {
    const { owner, batchId } = batchIn(request);
    const { id } = await findBatch(deps.db, owner, batchId);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${id}.csv"`)
      .send(await resultsInCsv(deps.db, id));
  });
}

function limitBody(scope: Api, bytes: number): void {
  scope.addHook('onRoute', (route) => {
    route.bodyLimit = bytes;
  });
}

function batchIn(request: FastifyRequest) {
  const { owner, actor } = contextOf(request);
  return { owner, actor, batchId: (request.params as { id: string }).id };
}

async function readBatches(deps: ApiDependencies, request: FastifyRequest) {
  const { owner, query } = contextOf(request);
  const cursor = cursorIn(query);
  const { rows, next } = await pageOf(
    { cursor, limit: pageLength },
    (before, limit) => findBatches(deps.db, owner, { before, limit }),
    (batch) => batch,
  );
  return { batches: rows, cursor, next, isConfirmed: isConfirmedLately(deps, request) };
}

async function readBatch({ db }: ApiDependencies, request: FastifyRequest) {
  const { owner, batchId } = batchIn(request);
  const batch = await findBatch(db, owner, batchId);
  const [refunds, rejected, names] = await Promise.all([
    countRefundsOf(db, batch.id),
    readResults(db, batch.id, { after: 0, limit: shownRows, state: 'rejected' }),
    nameActors(db, owner.organizationId, [batch.actor]),
  ]);
  return { batch, refunds, rejected, requestedBy: names.get(batch.actor) ?? batch.actor };
}

async function createFrom(deps: ApiDependencies, { owner, actor }: Context, body: unknown) {
  const text = entered(body, 'file');
  const mode = batchModes.find((each) => each === entered(body, 'mode')) ?? 'strict';
  const rows = await readRows(await readCsvRows(text));
  return await createBatch(deps, {
    ...owner,
    actor,
    mode,
    rows,
    idempotencyKey: (ofRows) => ofRows,
  });
}
