import { readFile } from 'node:fs/promises';
import { readRows } from '#api/operations/batch-rows.ts';
import { batchModes, countRefundsOf, toPublicBatch } from '#shared/batches/batch.ts';
import { createBatch } from '#shared/batches/create-batch.ts';
import { readCsvRows, resultsInCsv } from '#shared/batches/csv.ts';
import { pauseBatch, resumeBatch } from '#shared/batches/pause.ts';
import type { RefundBatch } from '#shared/platform/database.ts';
import { command, commands } from '../console/command.ts';
import { choice, required, text, withDefault } from '../console/options.ts';
import { explain, printData, printJson } from '../console/output.ts';
import { CommandError, type Session } from '../console/session.ts';

const argument = ['<id>', 'ID of the batch'] as const;

/** Many refunds from one CSV file. */
export const batchCommands = commands(
  'create refunds from a CSV file, and follow them (see docs/batches.md)',
  {
    create: command({
      description: 'create a batch; the same rows are the same batch',
      options: {
        key: required(
          text(
            '<id>',
            'ID of the API key that requests the refunds; it decides the organization and the environment',
          ),
        ),
        file: required(text('<file>', 'the rows as CSV')),
        mode: withDefault(
          choice('<mode>', batchModes, 'strict: an invalid row refuses the file; partial: it is rejected'),
          'strict',
        ),
      },
      examples: ['--key key_... --file refunds.csv'],
      async run(session, { key: id, file, mode }) {
        const key = await session.db.apiKey.findUnique({ where: { id } });
        if (key === null) throw new CommandError(`API key not found: ${id}`);
        const content = await readFile(file, 'utf8').catch(() => {
          throw new CommandError(`The file cannot be read: ${file}`);
        });
        const { organizationId, environment } = key;
        const rows = await readRows(await readCsvRows(content));
        const { batch, isReplayed } = await createBatch(session, {
          ...{ organizationId, environment, actor: `key:${id}`, mode, rows },
          idempotencyKey: (ofRows) => ofRows,
        });
        explain(
          isReplayed
            ? 'These rows were given before; this is their batch.'
            : `Created a batch of ${batch.rowCount} rows in the ${environment} environment.`,
        );
        printData(batch.id);
      },
    }),
    status: command({
      description: 'show the progress of a batch as JSON',
      argument,
      async run({ db }, _options, id) {
        const found = await findById(db, id);
        printJson({ ...toPublicBatch(found), refunds: await countRefundsOf(db, id) });
      },
    }),
    pause: change('begin no further row', pauseBatch),
    resume: change('go on with the rows that wait', resumeBatch),
    results: command({
      description: 'write what came of each row as CSV',
      argument,
      async run({ db }, _options, id) {
        printData((await resultsInCsv(db, (await findById(db, id)).id)).trimEnd());
      },
    }),
  },
);

function change(description: string, carryOut: typeof pauseBatch | typeof resumeBatch) {
  return command({
    description,
    argument,
    async run(session, _options, batchId) {
      const owner = await findById(session.db, batchId);
      const { status, pauseReason } = await carryOut(session, { owner, batchId, actor: session.actor });
      const isPausing = status === 'processing' && pauseReason !== null;
      explain(
        isPausing
          ? 'The batch begins no further row and is paused within a minute.'
          : `The batch is ${status}.`,
      );
    },
  });
}

async function findById(db: Session['db'], id: string): Promise<RefundBatch> {
  const found = await db.refundBatch.findUnique({ where: { id } });
  if (found === null) throw new CommandError(`Refund batch not found: ${id}`);
  return found;
}
