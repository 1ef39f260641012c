import { policyFileSchema } from '#shared/policies/policy-file.ts';
import { listPolicies, setPolicies } from '#shared/policies/stored-policies.ts';
import { command, commands } from '../console/command.ts';
import { json, organization, required, text } from '../console/options.ts';
import { explain, printJson, printTable } from '../console/output.ts';
import { readJson } from '../console/session.ts';

const file = required(text('<file>', 'the policies as JSON; - for stdin'));

/** What may be refunded, and when a refund requires approval. */
export const policyCommands = commands("set and show an organization's refund policies", {
  set: command({
    description: 'replace all policies of an organization with those of a file (see docs/policies.md)',
    options: { organization, file },
    examples: ['--organization org_... --file policy.json'],
    async run(session, { organization: organizationId, file: name }) {
      const file = await readJson(name, 'policies');
      const policies = await setPolicies(session, { organizationId, file, actor: session.actor });
      const names = policies.map(({ name }) => `"${name}"`).join(', ');
      explain(`Set ${policies.length === 1 ? 'one policy' : `${policies.length} policies`}: ${names}.`);
    },
  }),
  // Its JSON is a file for `policy set`.
  show: command({
    description: 'show the policies of an organization in the order in which they are checked',
    options: { organization, json },
    examples: ['--organization org_...', '--organization org_... --json > policy.json'],
    async run({ db }, { organization, json }) {
      const file = policyFileSchema.encode({ policies: await listPolicies(db, organization) });
      if (json) return printJson(file);
      printTable(file.policies, {
        PRIORITY: ({ priority }) => priority,
        NAME: ({ name }) => name,
        RULES: ({ priority: _, name: __, ...rules }) => JSON.stringify(rules),
      });
    },
  }),
});
