import { formatAmount } from '#shared/money/money.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { policyFileSchema, readPolicyFile } from '#shared/policies/policy-file.ts';
import { replayInWords, replayPolicies, toPublicReplay } from '#shared/policies/replay.ts';
import { listPolicies, setPolicies } from '#shared/policies/stored-policies.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import {
  environmentOption,
  jsonOption,
  type Owner,
  organizationOption,
  type Shown,
} from '../console/options.ts';
import { explain, printJson, printTable } from '../console/output.ts';
import { readJson, type Session } from '../console/session.ts';

/** `policy`: what may be refunded, and when a refund requires approval. */
export function addPolicyCommands(program: AdminCommand): void {
  const policy = program
    .command('policy')
    .alias('policies')
    .description("set and show an organization's refund policies");
  policy
    .command('set')
    .description('replace all policies of an organization with those of a file (see docs/policies.md)')
    .addOption(organizationOption)
    .requiredOption('--file <file>', 'the policies as JSON; - for stdin')
    .examples('policy set --organization org_... --file policy.json')
    .run(setPolicyFile);
  policy
    .command('show')
    .description('show the policies of an organization in the order in which they are checked')
    .addOption(organizationOption)
    .addOption(jsonOption)
    .examples('policy show --organization org_...', 'policy show --organization org_... --json > policy.json')
    .run(showPolicies);
  policy
    .command('replay')
    .description('show what the policies of a file would have decided about the refunds of the last 90 days')
    .addOption(organizationOption)
    .addOption(environmentOption)
    .requiredOption('--file <file>', 'the policies as JSON; - for stdin')
    .addOption(jsonOption)
    .examples('policy replay --organization org_... --environment live --file policy.json')
    .run(replayPolicyFile);
}

async function setPolicyFile(session: Session, options: Owner & { file: string }): Promise<void> {
  const { organization: organizationId, file: name } = options;
  const file = await readJson(name, 'policies');
  const policies = await setPolicies(session, { organizationId, file, actor: session.actor });
  const names = policies.map(({ name }) => `"${name}"`).join(', ');
  explain(`Set ${policies.length === 1 ? 'one policy' : `${policies.length} policies`}: ${names}.`);
}

/** Its JSON output is a file for `policy set`. */
async function showPolicies({ db }: Session, { organization, json }: Owner & Shown): Promise<void> {
  const file = policyFileSchema.encode({ policies: await listPolicies(db, organization) });
  if (json) return printJson(file);
  printTable(file.policies, {
    PRIORITY: ({ priority }) => priority,
    NAME: ({ name }) => name,
    RULES: ({ priority: _, name: __, ...rules }) => JSON.stringify(rules),
  });
}

async function replayPolicyFile(
  session: Session,
  options: Owner & Shown & { environment: Environment; file: string },
): Promise<void> {
  const { organization: organizationId, environment, file } = options;
  const proposed = readPolicyFile(await readJson(file, 'policies'));
  const current = await listPolicies(session.db, organizationId);
  const replay = await replayPolicies(session, { organizationId, environment }, { current, proposed });
  if (options.json) return printJson(toPublicReplay(replay));
  for (const sentence of replayInWords(replay)) explain(sentence);
  if (replay.affected.length === 0) return;
  printTable(replay.affected, {
    CREATED: ({ refund }) => refund.createdAt.toISOString(),
    REFUND: ({ refund }) => refund.id,
    AMOUNT: ({ refund }) => formatAmount(refund.amount, refund.currency),
    TODAY: ({ current }) => current,
    PROPOSED: ({ proposed }) => proposed,
    REASON: ({ reason }) => reason,
  });
}
