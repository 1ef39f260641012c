import { failure, runCommand } from './run-command.ts';

// The reader of a pipe may close it early; nobody reads the rest.
process.stdout.on('error', () => process.exit(failure));

process.exitCode = await runCommand(process.argv);
