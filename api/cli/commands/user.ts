import { randomBytes } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';
import { roles } from '#shared/access/roles.ts';
import { type Deletion, deleteUser } from '#shared/people/members/delete-user.ts';
import { disableUser, enableUser } from '#shared/people/members/disable-user.ts';
import { needsFirstOwner, setupCode } from '#shared/people/members/first-owner.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { findMember, listMembers, removeMember } from '#shared/people/members/members.ts';
import { createUser, findUser, hasUser, refusingTakenEmail } from '#shared/people/members/users.ts';
import { resetPassword } from '#shared/people/sign-in/passwords.ts';
import { resetSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import type { Database } from '#shared/platform/database.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { command, commands, listing, type ValuesOf } from '../console/command.ts';
import { choice, email, flag, organization, required, revokeKeys, text } from '../console/options.ts';
import { explain, printData } from '../console/output.ts';
import {
  countOf,
  explainDisabledEndpoints,
  explainRemainingEndpoints,
  explainRemainingKeys,
} from '../console/remaining-keys.ts';

const passwordHelp = `
A password is generated and printed once, alone on stdout, or read from stdin with --password-stdin. It is never an
argument: every user of the machine can read arguments, and the shell keeps them in its history.
`;

const secondFactorHelp = `
Make sure who asks for it: the password is then enough to sign in, until the user sets up another second factor. Reset the
password as well if someone else may know it.
`;

const passwordStdin = flag('read the password from stdin instead of generating one');

/** Of commands that concern a user in every organization. */
const anyUser = {
  organization: text('<id>', 'refuse unless the user is a member of this organization'),
  email,
};

export const userCommands = commands('manage users of the dashboard', {
  list: listing({
    description: 'list the members of an organization',
    options: { organization },
    examples: ['--organization org_...'],
    async read({ db }, { organization }) {
      await findOrganization(db, organization);
      return await listMembers(db, organization);
    },
    empty: 'The organization has no members.',
    columns: {
      ID: ({ userId }) => userId,
      EMAIL: ({ email }) => email,
      ROLE: ({ role }) => role,
      SINCE: ({ since }) => since,
      STATUS: ({ isDisabled }) => (isDisabled ? 'disabled' : 'enabled'),
    },
  }),
  add: command({
    description: 'create a user as a member of an organization; invites an existing user instead',
    options: {
      ...{ organization, email },
      role: required(choice('<role>', roles, 'role in the organization')),
      passwordStdin,
    },
    explanation: passwordHelp,
    examples: ['--organization org_... --email ada@example.com --role owner'],
    async run(session, { organization: organizationId, email, role, passwordStdin }) {
      const { db, actor } = session;
      if (await hasUser(db, email)) {
        const acting = { administration: actor };
        const { token, expiresAt } = await invite(session, { organizationId, acting, email, role });
        explain(
          `${email} already has a user, who is invited as ${role} instead. Send them your dashboard's address with this path, which they open when signed in. It is shown once and expires ${expiresAt.toISOString()}:`,
        );
        return printData(`/dashboard/invitation/${token}`);
      }
      const password = await choosePassword(passwordStdin);
      const { id } = await createUser(session, { organizationId, email, password, role, actor });
      explain(`Created ${id} as ${role}.`);
      if (!passwordStdin) printNewPassword(password);
    },
  }),
  'reset-password': command({
    description: 'set a new password, end all sessions of the user and clear lockouts',
    options: { ...anyUser, passwordStdin },
    explanation: passwordHelp,
    examples: ['--email ada@example.com'],
    async run(session, { passwordStdin, ...named }) {
      const password = await choosePassword(passwordStdin);
      const user = await chosenUser(session.db, named);
      await refusingTakenEmail(() => resetPassword(session, { user, password, actor: session.actor }));
      explain(`Reset the password of ${user.userId} and ended all sessions.`);
      if (!passwordStdin) printNewPassword(password);
    },
  }),
  'reset-second-factor': command({
    description: 'remove the second factor of a user who lost their device, and end all their sessions',
    options: anyUser,
    explanation: secondFactorHelp,
    examples: ['--email ada@example.com'],
    async run(session, named) {
      const { userId } = await chosenUser(session.db, named);
      await resetSecondFactor(session, { userId, actor: session.actor });
      explain(`Reset the second factor of ${userId} and ended all sessions.`);
    },
  }),
  remove: command({
    description: 'remove a member from an organization, except its last owner',
    options: { organization, email, revokeKeys },
    examples: [
      '--organization org_... --email ada@example.com',
      '--organization org_... --email ada@example.com --revoke-keys',
    ],
    async run(session, { organization: organizationId, email, revokeKeys }) {
      const { userId } = await findMember(session.db, organizationId, email);
      const acting = { administration: session.actor };
      const keptKeys = revokeKeys ? [] : 'all';
      const created = await removeMember(session, { organizationId, userId, acting, keptKeys });
      explain(`Removed ${userId} from ${organizationId}.`);
      explainCreated(created);
    },
  }),
  disable: command({
    description:
      'end all sessions of a user, revoke the invitations that the user made, and refuse sign-ins in every organization until `user enable`',
    options: { ...anyUser, revokeKeys },
    examples: ['--email ada@example.com --revoke-keys'],
    async run(session, { revokeKeys: revokesKeys = false, ...named }) {
      const { userId } = await chosenUser(session.db, named);
      const created = await disableUser(session, { userId, actor: session.actor, revokesKeys });
      explain(`Disabled ${userId}, ended all sessions and revoked open invitations of the user.`);
      explainCreated(created);
    },
  }),
  enable: command({
    description: 'let a disabled user sign in again',
    options: anyUser,
    examples: ['--email ada@example.com'],
    async run(session, named) {
      const { userId } = await chosenUser(session.db, named);
      await enableUser(session, { userId, actor: session.actor });
      explain(`Enabled ${userId}.`);
    },
  }),
  delete: command({
    description:
      'delete a user, revoke their API keys and the invitations that they made, disable the webhook endpoints of these keys, and erase the address; needs the owner of the database',
    options: { email },
    explanation:
      '\nThis can\'t be undone. Run `user disable` first to see the API keys. The user\'s ID stays in timelines and the audit log, shown as "Deleted user".\n',
    examples: ['--email ada@example.com'],
    async run(session, { email }) {
      const request = { email, actor: session.actor };
      const { userId, hasOthers, isErased, openInvitations, ...created } = await deleteUser(session, request);
      if (isErased) {
        explain(`Deleted ${userId ?? 'what was stored about the address'}.`);
        explainCreated(created);
      } else explain('No user has this address; nothing was deleted.');
      if (hasOthers) explain('Another user has the address. Repeat the command to delete it as well.');
      for (const { id, organizationId } of openInvitations) {
        explain(
          `${id} of ${organizationId} still invites the address. To erase that as well, revoke it there and repeat the command.`,
        );
      }
    },
  }),
  'set-up-code': command({
    description: 'print the code for creating the first owner at /dashboard/set-up',
    examples: [''],
    async run({ db, settings }) {
      if (!(await needsFirstOwner(db)))
        return explain('The installation already has a user; the code is no longer valid.');
      printData(setupCode(settings.ENCRYPTION_KEY));
    },
  }),
});

async function chosenUser(
  db: Database,
  { organization, email }: ValuesOf<typeof anyUser>,
): Promise<{ email: string; userId: string }> {
  return await (organization === undefined ? findUser(db, email) : findMember(db, organization, email));
}

/** Which of the user's API keys, and of the webhook endpoints that they created, have ended and which go on. */
function explainCreated({ ended, remaining }: Pick<Deletion, 'ended' | 'remaining'>): void {
  if (ended.keys.length > 0) explain(`Revoked ${countOf(ended.keys)} that the user created.`);
  explainDisabledEndpoints(ended.endpoints);
  explainRemainingKeys('the user', remaining.keys);
  explainRemainingEndpoints(remaining.endpoints);
}

function printNewPassword(password: string): void {
  explain('Password, shown once:');
  printData(password);
}

/** 120 random bits, as twenty letters, digits, dashes and underscores. */
const newPasswordBytes = 15;

/** The first line of stdin, or a new random password. */
async function choosePassword(isInStdin: boolean | undefined): Promise<string> {
  if (!isInStdin) return randomBytes(newPasswordBytes).toString('base64url');
  if (process.stdin.isTTY)
    explain('Type the password, then press Enter and Ctrl-D. It is shown as you type.');
  const [line = ''] = (await readText(process.stdin)).split(/\r?\n/, 1);
  return line;
}
