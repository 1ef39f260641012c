import { failure, runCommand } from './run-command.ts';

// The reader of a pipe may close it before the output ends.
process.stdout.on('error', () => process.exit(failure));

process.exitCode = await runCommand(process.argv);
