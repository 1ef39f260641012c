import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { readRows } from '#api/operations/refund-batches.ts';
import { type BatchMode, batchModes, countRefundsOf, toPublicBatch } from '#shared/batches/batch.ts';
import { createBatch } from '#shared/batches/create-batch.ts';
import { readCsvRows, resultsInCsv } from '#shared/batches/csv.ts';
import { pauseBatch, resumeBatch } from '#shared/batches/pause.ts';
import type { RefundBatch } from '#shared/platform/database.ts';
import { sha256 } from '#shared/platform/secrets.ts';
import { ownedKey } from '#shared/refunds/requests/key-requests.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import { explain, printData, printJson } from '../console/output.ts';
import { CommandError, type Session } from '../console/session.ts';

/** `batch`: many refunds from one CSV file. */
export function addBatchCommands(program: AdminCommand): void {
  const batch = program
    .command('batch')
    .description('create refunds from a CSV file, and follow them (see docs/batches.md)');
  batch
    .command('create')
    .description('create a batch; the same file with the same key is the same batch')
    .requiredOption(
      '--key <id>',
      'ID of the API key that requests the refunds; it decides the organization and the environment',
    )
    .requiredOption('--file <file>', 'the rows as CSV')
    .addOption(
      new Option('--mode <mode>', 'strict: an invalid row refuses the file; partial: it is rejected')
        .choices(batchModes)
        .default('strict'),
    )
    .examples('batch create --key key_... --file refunds.csv')
    .run(create);
  batch
    .command('status')
    .description('show the progress of a batch as JSON')
    .argument('<id>', 'ID of the batch')
    .run(async ({ db }: Session, id: string) => {
      const found = await findById(db, id);
      printJson({ ...toPublicBatch(found), refunds: await countRefundsOf(db, id) });
    });
  const changes = [
    ['pause', 'begin no further row', pauseBatch],
    ['resume', 'go on with the rows that wait', resumeBatch],
  ] as const;
  for (const [verb, description, change] of changes) {
    batch
      .command(verb)
      .description(description)
      .argument('<id>', 'ID of the batch')
      .run(async (session: Session, id: string) => {
        const owner = await findById(session.db, id);
        const { status } = await change(session, { owner, batchId: id, actor: session.actor });
        explain(`The batch is ${status}.`);
      });
  }
  batch
    .command('results')
    .description('write what came of each row as CSV')
    .argument('<id>', 'ID of the batch')
    .run(async ({ db }: Session, id: string) => {
      printData((await resultsInCsv(db, (await findById(db, id)).id)).trimEnd());
    });
}

async function create(
  session: Session,
  { key: id, file, mode }: { key: string; file: string; mode: BatchMode },
): Promise<void> {
  const key = await session.db.apiKey.findUnique({ where: { id } });
  if (key === null) throw new CommandError(`API key not found: ${id}`);
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CommandError(`The file cannot be read: ${file}`);
  });
  const { organizationId, environment } = key;
  const digest = Buffer.from(sha256(text)).toString('base64url');
  const { batch, isReplayed } = await createBatch(session, {
    ...{ organizationId, environment, actor: `key:${id}`, mode, rows: readRows(await readCsvRows(text)) },
    idempotencyKey: ownedKey(key, `cli\n${mode}\n${digest}`),
  });
  explain(
    isReplayed
      ? 'This file was given before; this is its batch.'
      : `Created a batch of ${batch.rowCount} rows.`,
  );
  printData(batch.id);
}

async function findById(db: Session['db'], id: string): Promise<RefundBatch> {
  const found = await db.refundBatch.findUnique({ where: { id } });
  if (found === null) throw new CommandError(`Refund batch not found: ${id}`);
  return found;
}
