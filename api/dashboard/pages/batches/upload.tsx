import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { admit, openPlaces } from '#api/http/admission.ts';
import { uploadBody } from '#api/http/body.ts';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { batchLimitBytes } from '#api/operations/refund-batches.ts';
import { maxRows } from '#shared/batches/batch.ts';
import {
  createBatch,
  findRepeated,
  type RequestedRow,
  type RowReview,
} from '#shared/batches/create-batch.ts';
import { reviewRows } from '#shared/batches/review-rows.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { byteOrderMark, csvLine } from '#shared/platform/formats/csv.ts';
import { confirmed, contextOf, needs } from '../../http/access.ts';
import { type FormProblems, validationProblemsOf } from '../../http/forms.ts';
import { leadTo, page } from '../../http/page.ts';
import { openField, sealField } from '../../http/sealed-field.ts';
import { summaryOf, UnitQuestion, UploadForm, UploadReview } from './upload-pages.tsx';
import { readUpload, type Unit, units } from './uploaded-rows.ts';

const path = '/batches/new';
/** How many files are read at once, because each takes much memory. */
const mostFiles = 4;
/** A file that is sent back sealed is at least a third longer. */
const sealedLimitBytes = 2 * batchLimitBytes;

const again = 'This review has expired. Upload the file again.';

/** A file as its review was made of it. It travels in the form, so nothing else can be sent than what was shown. */
interface Upload {
  text: string;
  unit: Unit | null;
  /** What the review said of rows, by their index. */
  reviews: readonly (readonly [index: number, RowReview])[];
}

const uploadSchema = z.object({
  file: z.string().optional(),
  /** The sealed file, once its unit has been asked for. */
  upload: z.string().optional(),
  unit: z.enum(units).optional(),
});
const createSchema = z.object({ upload: z.string(again) });

/** `/batches/new`: upload a CSV file, see what it comes to, and create its refunds. */
export async function uploadPages(scope: Api, deps: ApiDependencies): Promise<void> {
  const operator = confirmed('operator', { formLimitBytes: sealedLimitBytes });
  const upload = page(scope, path, confirmed('operator'), () => ({}), UploadForm);
  scope.get(`${path}/template`, needs('operator'), (_request, reply) =>
    reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="refunds.csv"')
      .send(byteOrderMark + csvLine(templateColumns)),
  );
  await scope.register(async (files: Api) => {
    const places = openPlaces(mostFiles);
    admit(files, (request) => ({ places, owner: contextOf(request).organization.id }));
    uploadBody(files);
    files.addHook('onRoute', (route) => {
      if (route.config?.confirm !== true) route.bodyLimit = sealedLimitBytes;
    });
    upload.form(path, 'operator', uploadSchema, (request, entries) => reviewFile(deps, request, entries), {
      ...{ scope: files, problemsIn: problemsOfFile },
    });
    upload.form(
      `${path}/create`,
      operator,
      createSchema,
      (request, entries) => create(deps, request, entries),
      {
        ...{ scope: files, isButton: true },
      },
    );
  });
}

const templateColumns = ['transactionId', 'amount', 'currency', 'reason', 'metadata.order_id'];

/** The same rows are one batch, whoever uploads them. */
const idempotencyKey = (ofRows: string) => ofRows;

function problemsOfFile(error: unknown): FormProblems {
  const { body, ...problems } = validationProblemsOf(error, ['body', 'file']);
  return { file: body, ...problems };
}

async function reviewFile(
  deps: ApiDependencies,
  request: FastifyRequest,
  { file = '', upload, unit: chosen }: z.output<typeof uploadSchema>,
) {
  const text = upload === undefined ? file : openUpload(deps, request, upload).text;
  const unit = chosen ?? null;
  const rows = await readUpload(text, unit);
  if ('meanings' in rows) {
    return <UnitQuestion question={rows} upload={sealUpload(deps, request, { text, unit, reviews: [] })} />;
  }
  if (rows.length === 0) throw problemOf('has no rows');
  if (rows.length > maxRows) throw problemOf(`has more than ${maxRows} rows. Split it`);
  const { owner } = contextOf(request);
  const repeated = await findRepeated(deps, { ...owner, rows, idempotencyKey });
  if (repeated !== null) return leadTo(`/batches/${repeated.id}`, 'batch-repeated');
  const review = await reviewRows(deps, owner, rows);
  const sealed = sealUpload(deps, request, { text, unit, reviews: [...review.reviews] });
  return <UploadReview summary={summaryOf(rows, review)} upload={sealed} />;
}

async function create(
  deps: ApiDependencies,
  request: FastifyRequest,
  { upload }: z.output<typeof createSchema>,
) {
  const { text, unit, reviews: shown } = openUpload(deps, request, upload);
  const rows = await readUpload(text, unit);
  if ('meanings' in rows) throw new ServiceError('validation_error', again);
  const reviews = new Map(shown);
  const isLeftOut = (row: RequestedRow, index: number) =>
    'problem' in row || 'refusal' in (reviews.get(index) ?? {});
  const { owner, actor } = contextOf(request);
  const { batch, isReplayed } = await createBatch(deps, {
    ...{ ...owner, actor, mode: rows.some(isLeftOut) ? 'partial' : 'strict', rows, reviews, idempotencyKey },
  });
  return leadTo(`/batches/${batch.id}`, isReplayed ? 'batch-repeated' : 'batch-created');
}

/** @throws ServiceError validation_error for a file that no form can hold. */
function sealUpload(deps: ApiDependencies, request: FastifyRequest, upload: Upload): string {
  const sealed = sealField(deps, upload, purposeOf(request));
  if (sealed.length > sealedLimitBytes - 1_024) throw problemOf('is too large. Split it');
  return sealed;
}

/** @throws ServiceError validation_error for a review that is too old, or another user's or environment's. */
function openUpload(deps: ApiDependencies, request: FastifyRequest, sealed: string): Upload {
  const upload = openField<Upload>(deps, sealed, purposeOf(request));
  if (upload === null) throw new ServiceError('validation_error', again);
  return upload;
}

function purposeOf(request: FastifyRequest): string {
  const { user, owner } = contextOf(request);
  return `upload of ${user.id} in ${owner.organizationId}/${owner.environment}`;
}

function problemOf(problem: string): ServiceError {
  return new ServiceError('validation_error', `file: ${problem}.`);
}
