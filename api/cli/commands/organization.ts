import { createOrganization } from '#shared/organizations/create-organization.ts';
import { maxFourEyesDays, setFourEyesDays } from '#shared/organizations/organization-settings.ts';
import { command, commands, listing } from '../console/command.ts';
import { days, organization, required, text } from '../console/options.ts';
import { explain, printData } from '../console/output.ts';

/** The tenants of the installation. */
export const organizationCommands = commands('create and list organizations', {
  create: command({
    description: 'create an organization with the default policy, and print its id',
    options: { name: required(text('<name>', 'display name')) },
    examples: ["--name 'Acme Inc'"],
    async run(session, { name }) {
      const { id } = await createOrganization(session, { name, actor: session.actor });
      printData(id);
      explain(`Created ${id}. Next: set up a processor account and create an API key.`);
    },
  }),
  set: command({
    description: 'change a setting of an organization',
    options: {
      organization,
      fourEyesDays: required(
        days(
          `for so many days after an invitation was accepted, the inviter and the invited cannot approve each other's refunds (0 to ${maxFourEyesDays}, 0 for no such rule)`,
          0,
          maxFourEyesDays,
          `Use a whole number from 0 to ${maxFourEyesDays}.`,
        ),
      ),
    },
    examples: ['--organization org_... --four-eyes-days 7'],
    async run(session, { organization: organizationId, fourEyesDays }) {
      await setFourEyesDays(session, { organizationId, actor: session.actor, days: fourEyesDays });
      explain(`Set the four-eyes days of ${organizationId} to ${fourEyesDays}.`);
    },
  }),
  list: listing({
    description: 'list all organizations',
    examples: [''],
    read: ({ db }) => db.organization.findMany({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }),
    empty: 'There are no organizations.',
    columns: { ID: ({ id }) => id, NAME: ({ name }) => name, CREATED: ({ createdAt }) => createdAt },
  }),
});
