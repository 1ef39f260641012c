import { ConfigError } from './config.ts';
import type { DatabaseTransaction } from './database.ts';

/**
 * What the processes of one database have to agree on, such as how idempotency keys are stored: a process that looks for digests finds no
 * key that another one wrote as it is, and would refund a repeated request again. A change of that kind raises this number, and a
 * migration the function `data_format()` (prisma/README.md).
 */
export const dataFormat = 1;

/** The database is of a version that must not share it with this one. The message says what to do. */
export class DataFormatError extends ConfigError {
  constructor(found: number) {
    super(
      found > dataFormat
        ? `A newer version has migrated this database, and this one must not use it any more (format ${found}, this version has ${dataFormat}). Start the newer version.`
        : `This database has not been migrated to this version (format ${found}, this version has ${dataFormat}). Run the migration, then start this version again.`,
    );
  }
}

/**
 * The database's time.
 * @throws DataFormatError when this version must not use the database.
 */
export async function timeOfSharedDatabase(db: DatabaseTransaction): Promise<Date> {
  const [row] = await db.$queryRaw<{ now: Date; format: number }[]>`
    SELECT service_time() AS now, data_format() AS format`.catch((error: unknown) => {
    // Without tables the first function is missing, too: then the database is not ready yet.
    if (String((error as Error).message).includes('data_format()')) throw new DataFormatError(0);
    throw error;
  });
  if (row === undefined) throw new Error('service_time() returned no row');
  if (row.format !== dataFormat) throw new DataFormatError(row.format);
  return row.now;
}
