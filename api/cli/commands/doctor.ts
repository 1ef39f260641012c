import type { Command } from 'commander';
import type { Check, Finding } from '../checks/finding.ts';
import { checkAddresses, checkClock, checkMail, checkWorkers } from '../checks/installation.ts';
import { checkAccounts, checkEndpoints, checkSignIn } from '../checks/organizations.ts';
import { checkPostgres } from '../checks/postgres.ts';
import { checkRedis } from '../checks/redis.ts';
import { listing } from '../console/command.ts';
import type { Session } from '../console/session.ts';

const help = `
Checks PostgreSQL, Redis, clock, workers, addresses and mail, then accounts, company sign-in and webhook endpoints, without moving money.
Exits with 1 if something is wrong. Accounts are tested as by account check, which the audit log has.
`;

/** These need no database. */
const ofPlace: readonly Check[] = [checkPostgres, checkRedis, checkAddresses, checkMail];
const ofDatabase: readonly Check[] = [checkClock, checkWorkers, checkAccounts, checkSignIn, checkEndpoints];

/** Checks everything once, and says what is right, what is wrong and what to do. */
export const doctorCommand: (parent: Command, name: string) => void = listing({
  description: 'check the settings, the stores, and everything that the service reaches',
  explanation: help,
  examples: ['', '--json'],
  async read(session) {
    const place = await run(ofPlace, session);
    const isReadable = !place.some(({ subject, state }) => subject === 'PostgreSQL' && state === 'wrong');
    const findings = [...place, ...(isReadable ? await run(ofDatabase, session) : [])];
    if (findings.some(({ state }) => state === 'wrong')) process.exitCode = 1;
    return findings;
  },
  empty: '',
  columns: { STATE: ({ state }) => state, SUBJECT: ({ subject }) => subject, FINDING: ({ words }) => words },
});

async function run(checks: readonly Check[], session: Session): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => check(session)))).flat();
}
