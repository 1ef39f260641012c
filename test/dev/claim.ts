import { join } from 'node:path';
import { LockedError, takeLock } from '../support/processes/process-lock.ts';
import { StartError } from './start-error.ts';

/**
 * Takes a data directory for this process alone.
 * @returns gives it back.
 * @throws StartError when a process that is alive has it.
 */
export function claimDataDir(dataDir: string): () => void {
  try {
    return takeLock(join(dataDir, 'dev.lock'));
  } catch (error) {
    if (!(error instanceof LockedError)) throw error;
    throw new StartError(
      error.holder === null
        ? `npm run dev has just been started on ${dataDir}.`
        : `npm run dev already runs on ${dataDir} (process ${error.holder}). Stop it, or set DATA_DIR and PORT to run a second one.`,
    );
  }
}
