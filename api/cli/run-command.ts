import { CommanderError } from 'commander';
import { ConfigError } from '#shared/platform/config.ts';
import { isDatabaseUnavailable } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { redact } from '#shared/platform/log.ts';
import { SecretUnreadableError } from '#shared/platform/secrets.ts';
import { InvalidCredentialsError } from '#shared/processors/contract/processor.ts';
import { addAccountCommands } from './commands/account.ts';
import { addAuditCommands } from './commands/audit.ts';
import { addBatchCommands } from './commands/batch.ts';
import { addKeyCommands } from './commands/key.ts';
import { addOrganizationCommands } from './commands/organization.ts';
import { addPolicyCommands } from './commands/policy.ts';
import { addReconciliationCommands } from './commands/reconciliation.ts';
import { addRecoverCommand } from './commands/recover.ts';
import { addRefundCommands } from './commands/refund.ts';
import { addSecretsCommands } from './commands/secrets.ts';
import { addSsoCommands } from './commands/sso.ts';
import { addTimelineCommand } from './commands/timeline.ts';
import { addUserCommands } from './commands/user.ts';
import { AdminCommand } from './console/admin-command.ts';
import { explain } from './console/output.ts';
import { CommandError } from './console/session.ts';

/** Exit codes: the command could not be done, or could not be understood. */
export const failure = 1;
const misuse = 2;

function buildProgram(): AdminCommand {
  const program = new AdminCommand('npm run -s admin --')
    .description(
      'Administers the refund service, directly on its database. Data goes to stdout, explanations to stderr.\n' +
        'Needs DATABASE_URL and ENCRYPTION_KEY as the service has them.',
    )
    .examples("organization create --name 'Acme Inc'", 'key create --help')
    // Commands inherit this when they are added, so it comes first.
    .exitOverride()
    // Commander repeats unknown arguments, which may be secrets in the wrong place.
    .configureOutput({ outputError: (text, write) => write(redact(text)) });
  addOrganizationCommands(program);
  addSsoCommands(program);
  addKeyCommands(program);
  addAccountCommands(program);
  addPolicyCommands(program);
  addRefundCommands(program);
  addBatchCommands(program);
  addReconciliationCommands(program);
  addRecoverCommand(program);
  addSecretsCommands(program);
  addUserCommands(program);
  addAuditCommands(program);
  addTimelineCommand(program);
  return program;
}

/** A message for any error, without stack or secrets. */
function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof ServiceError) return error.message;
  if (error instanceof CommandError || error instanceof InvalidCredentialsError) return error.message;
  if (error instanceof SecretUnreadableError) return error.message;
  const message = error instanceof Error ? error.message : String(error);
  if (/does not exist in the current database|relation "\w+" does not exist/.test(message)) {
    return 'The database schema is missing or out of date. Run: npm run db:migrate, or node dist/prisma/migrate-main.js in production';
  }
  if (/permission denied for|must be owner of/.test(message)) {
    return 'The database role of the service may not do this. Run the command with the DATABASE_URL of the owner.';
  }
  if (isDatabaseUnavailable(error)) {
    return 'The database cannot be reached. Check DATABASE_URL, and that PostgreSQL is running and accepts the connection.';
  }
  return `Unexpected error: ${message.trim().replace(/\s+/g, ' ')}`;
}

/**
 * Carries out one command, with the standard streams and the settings of this process.
 * @param argv as in `process.argv`, which begins with the program and the file.
 * @returns the exit code.
 */
export async function runCommand(argv: readonly string[]): Promise<number> {
  process.exitCode = 0;
  try {
    await buildProgram().parseAsync(argv);
    return process.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      explain(redact(describe(error)));
      return failure;
    }
    // Commander has printed its own errors. Help is one of them, with exit code 0.
    return error.exitCode === 0 ? 0 : misuse;
  }
}
