import { Command, CommanderError } from 'commander';
import { ConfigError } from '#shared/platform/config.ts';
import { isDatabaseUnavailable, storeTroubleOf } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { redact } from '#shared/platform/log.ts';
import { SecretUnreadableError } from '#shared/platform/secrets/secrets.ts';
import { InvalidCredentialsError } from '#shared/processors/contract/processor.ts';
import { accountCommands } from './commands/account.ts';
import { auditCommands } from './commands/audit.ts';
import { doctorCommand } from './commands/doctor.ts';
import { keyCommands } from './commands/key.ts';
import { organizationCommands } from './commands/organization.ts';
import { policyCommands } from './commands/policy.ts';
import { reconciliationCommands } from './commands/reconciliation.ts';
import { recoverCommand } from './commands/recover.ts';
import { refundCommands } from './commands/refund.ts';
import { secretsCommands } from './commands/secrets.ts';
import { timelineCommands } from './commands/timeline.ts';
import { userCommands } from './commands/user.ts';
import { addExamples } from './console/command.ts';
import { explain } from './console/output.ts';
import { CommandError } from './console/session.ts';

/** Exit codes: the command could not be done, or could not be understood. */
export const failure = 1;
const misuse = 2;

/** All commands, in the order of the help. */
const all = {
  organization: organizationCommands,
  key: keyCommands,
  account: accountCommands,
  policy: policyCommands,
  refund: refundCommands,
  reconciliation: reconciliationCommands,
  doctor: doctorCommand,
  recover: recoverCommand,
  secrets: secretsCommands,
  user: userCommands,
  audit: auditCommands,
  timeline: timelineCommands,
};

/** All commands, which `parseAsync` carries out. */
export function buildProgram(): Command {
  const program = new Command('npm run -s admin --')
    .description(
      'Administers the refund service, directly on its database. Data goes to stdout, explanations to stderr.\n' +
        'Needs DATABASE_URL and ENCRYPTION_KEY as the service has them.',
    )
    // Commands inherit this when they are added, so it comes first.
    .exitOverride()
    // Commander repeats unknown arguments, which may be secrets in the wrong place.
    .configureOutput({ outputError: (text, write) => write(redact(text)) });
  addExamples(program, ["organization create --name 'Acme Inc'", 'key create --help']);
  for (const [name, add] of Object.entries(all)) add(program, name);
  return program;
}

/** A message for any error, without stack or secrets. */
function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof ServiceError) return error.message;
  if (error instanceof CommandError || error instanceof InvalidCredentialsError) return error.message;
  if (error instanceof SecretUnreadableError) return error.message;
  const message = error instanceof Error ? error.message : String(error);
  if (/permission denied for|must be owner of/.test(message)) {
    return 'The database role of the service may not do this. Run the command with the DATABASE_URL of the owner.';
  }
  if (isDatabaseUnavailable(error)) {
    return `The database cannot be used. ${storeTroubleOf(error) ?? 'Check DATABASE_URL, and that PostgreSQL runs.'}`;
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
