import type { FastifyRequest } from 'fastify';
import { admit, openClass } from '#api/http/admission.ts';
import { uploadBody } from '#api/http/body.ts';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { readRows } from '#api/operations/batch-rows.ts';
import { batchLimitBytes } from '#api/operations/refund-batches.ts';
import { nameActors } from '#shared/audit/actors.ts';
import { batchModes, countRefundsOf, findBatch, listBatches, readResults } from '#shared/batches/batch.ts';
import { createBatch } from '#shared/batches/create-batch.ts';
import { readCsvRows, resultsInCsv } from '#shared/batches/csv.ts';
import { dismissBatch, pauseBatch, resumeBatch } from '#shared/batches/pause.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import type { FormState } from '../../components/form.tsx';
import { type Context, contextOf, needs } from '../../http/access.ts';
import { entered, validationProblemsOf } from '../../http/forms.ts';
import { changesOf } from '../../layout/changes.ts';
import { leadTo } from '../../layout/done.tsx';
import { isConfirmedLately } from '../confirmation.tsx';
import { BatchPage } from './batch-page.tsx';
import { BatchesPage } from './batches-page.tsx';

const viewer = needs('viewer');
const operator = needs('operator');
const confirmed = needs('operator', 'confirmed');
const pageLength = 25;
/** How many files are read at once, because each takes much memory. */
const mostFiles = 4;
/** Rejected rows that the page of a batch shows; the file has all. */
const shownRows = 100;

/** `/batches`: the refund batches, the upload of a CSV file, and one batch with its progress. */
export async function batchPages(scope: Api, deps: ApiDependencies): Promise<void> {
  scope.get('/batches', viewer, (request) => showBatches(deps, request));
  // A file is too large to be held until the user has confirmed.
  changesOf(scope, '/batches')('/batches/confirm', confirmed, 'confirmed', async () => {});

  await scope.register(async (uploads: Api) => {
    const files = openClass(mostFiles);
    admit(uploads, (request) => ({ class: files, owner: contextOf(request).organization.id }));
    uploadBody(uploads);
    uploads.post('/batches', { ...operator, bodyLimit: batchLimitBytes }, async (request, reply) => {
      if (!isConfirmedLately(deps, request)) {
        const message = 'Confirm your identity under Batches, then upload the file again.';
        throw new ServiceError('insufficient_scope', message);
      }
      const context = contextOf(request);
      try {
        const { batch, isReplayed } = await createFrom(deps, context, request.body);
        return leadTo(reply, `/batches/${batch.id}`, isReplayed ? 'batch-repeated' : 'batch-created');
      } catch (error) {
        const problems = validationProblemsOf(error, []);
        reply.code(400);
        return await showBatches(deps, request, { body: request.body, problems });
      }
    });
  });

  scope.get<{ Params: { id: string } }>('/batches/:id', viewer, async (request) => {
    const context = contextOf(request);
    const batch = await findBatch(deps.db, context.owner, request.params.id);
    const [refunds, rejected, names] = await Promise.all([
      countRefundsOf(deps.db, batch.id),
      readResults(deps.db, batch.id, { after: 0, limit: shownRows, state: 'rejected' }),
      nameActors(deps.db, context.organization.id, [batch.actor]),
    ]);
    const requestedBy = names.get(batch.actor) ?? batch.actor;
    return <BatchPage {...{ batch, refunds, rejected, requestedBy }} />;
  });

  scope.get<{ Params: { id: string } }>('/batches/:id/results', viewer, async (request, reply) => {
    const { id } = await findBatch(deps.db, contextOf(request).owner, request.params.id);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${id}.csv"`)
      .send(await resultsInCsv(deps.db, id));
  });

  const change = changesOf(scope, '/batches/:id');
  const batchIn = (request: FastifyRequest) => {
    const { owner, actor } = contextOf(request);
    return { owner, actor, batchId: (request.params as { id: string }).id };
  };
  change('/batches/:id/pause', operator, 'batch-paused', (request) => pauseBatch(deps, batchIn(request)));
  change('/batches/:id/dismiss', operator, 'batch-dismissed', (request) =>
    dismissBatch(deps, batchIn(request)),
  );
  change('/batches/:id/resume', confirmed, 'batch-resumed', (request) => resumeBatch(deps, batchIn(request)));
}

async function showBatches(deps: ApiDependencies, request: FastifyRequest, form?: FormState) {
  const context = contextOf(request);
  const offset = Math.min(1_000_000, Number(/^\d+$/.exec(entered(context.query, 'offset')) ?? 0));
  const page = await listBatches(deps.db, context.owner, { limit: pageLength, offset });
  const isConfirmed = isConfirmedLately(deps, request);
  return <BatchesPage {...{ ...page, offset, pageLength, form, isConfirmed }} />;
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
