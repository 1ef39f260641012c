import { runPrisma } from './prisma-cli.ts';

// Runs after every installation and writes the typed client to prisma/generated. Silent when all is well.
const result = runPrisma('generate');
if (result === null) {
  console.warn('prisma is not installed, so the database client was not generated.');
} else if (result.code !== 0) {
  console.error(result.output);
  process.exitCode = result.code;
}
