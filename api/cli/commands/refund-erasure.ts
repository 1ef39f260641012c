import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Environment } from '../../../shared/platform/environment.ts';
import { findOrganization } from '../../../shared/platform/organization.ts';
import { eraseRefunds, findErasable } from '../../../shared/refunds/decisions/erase.ts';
import { environmentOption, examples, organizationOption, readTime } from '../console/options.ts';
import { explain, printData } from '../console/output.ts';
import { CommandError, withDependencies } from '../console/session.ts';
import { loadRefund } from '../reports/refund-report.ts';

const help = `
Erases metadata, the reasons that people gave, and what processors and webhook receivers said. Amounts, statuses, ids,
idempotency keys and timelines stay. This can't be undone. Needs the DATABASE_URL of the owner of the database.
`;

/** `refund erase` and `erase-matching`: personal data of customers. */
export function addErasureCommands(refund: Command): void {
  refund
    .command('erase')
    .description('erase the personal data of refunds')
    .argument('<refundId...>')
    .addHelpText('after', help)
    .addHelpText('after', examples('refund erase ref_...'))
    .action(erase);
  refund
    .command('erase-matching')
    .description('list the refunds of a customer or of a time, and erase their personal data with --confirm')
    .addOption(organizationOption())
    .addOption(environmentOption())
    .addOption(
      new Option('--metadata <key=value>', 'with this metadata; repeat it to require several').argParser(
        readPair,
      ),
    )
    .addOption(new Option('--created-before <time>', 'a day or a time').argParser(readTime))
    .option('--confirm', 'erase instead of listing')
    .addHelpText('after', help)
    .addHelpText(
      'after',
      examples(
        'refund erase-matching --organization org_... --environment live --metadata customer=ada@example.com',
        'refund erase-matching --organization org_... --environment live --created-before 2024-01-01 --confirm',
      ),
    )
    .action(eraseMatching);
}

function readPair(text: string, earlier: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined) {
    throw new InvalidArgumentError('Give a key and a value, such as customer=42.');
  }
  return { ...earlier, [key]: value };
}

async function erase(refundIds: readonly string[]): Promise<void> {
  await withDependencies(async (deps, actor) => {
    const owners = new Map<string, string>();
    for (const id of refundIds) owners.set(id, (await loadRefund(deps.db, id)).organizationId);
    for (const organizationId of new Set(owners.values())) {
      const own = [...owners].flatMap(([id, owner]) => (owner === organizationId ? [id] : []));
      await eraseRefunds(deps, { organizationId, refundIds: own, actor });
    }
    explain(`Erased the personal data of ${owners.size} refunds.`);
  });
}

interface Matching {
  organization: string;
  environment: Environment;
  metadata?: Record<string, string>;
  createdBefore?: Date;
  confirm?: true;
}

async function eraseMatching(options: Matching): Promise<void> {
  const { organization: organizationId, environment, metadata, createdBefore, confirm } = options;
  if (metadata === undefined && createdBefore === undefined) {
    throw new CommandError('Give --metadata, --created-before or both.');
  }
  await withDependencies(async (deps, actor) => {
    await findOrganization(deps.db, organizationId);
    const refundIds = await findErasable(
      deps.db,
      { organizationId, environment },
      { metadata, createdBefore },
    );
    for (const id of refundIds) printData(id);
    if (confirm !== true) {
      return explain(`${refundIds.length} refunds match. Nothing was erased; repeat with --confirm.`);
    }
    await eraseRefunds(deps, { organizationId, refundIds, actor });
    explain(`Erased the personal data of ${refundIds.length} refunds.`);
  });
}
