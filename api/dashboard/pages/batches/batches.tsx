import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import { countRefundsOf, findBatch, findBatches, readResults } from '#shared/batches/batch.ts';
import { resultsInCsv } from '#shared/batches/csv.ts';
import { dismissBatch, pauseBatch, resumeBatch } from '#shared/batches/pause.ts';
import { pageOf } from '#shared/platform/cursor.ts';
import { byteOrderMark } from '#shared/platform/formats/csv.ts';
import { confirmed, contextOf, needs } from '../../http/access.ts';
import { cursorIn } from '../../http/filter.ts';
import { page } from '../../http/page.ts';
import { BatchPage } from './batch-page.tsx';
import { BatchesPage } from './batches-page.tsx';
import { uploadPages } from './upload.tsx';

const pageLength = 25;
/** Rejected rows that the page of a batch shows; the file has all. */
const shownRows = 100;

/** `/batches`: the refund batches, and one batch with its progress. */
export async function batchPages(scope: Api, deps: ApiDependencies): Promise<void> {
  page(scope, '/batches', 'viewer', (request) => readBatches(deps, request), BatchesPage);
  await uploadPages(scope, deps);

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
      .send(byteOrderMark + (await resultsInCsv(deps.db, id)));
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
  return { batches: rows, cursor, next };
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
