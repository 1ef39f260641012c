import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { Option } from 'commander';
import { type Deletion, deleteUser } from '#shared/people/members/delete-user.ts';
import { disableUser, enableUser } from '#shared/people/members/disable-user.ts';
import { needsFirstOwner, setupCode } from '#shared/people/members/first-owner.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { findMember, listMembers, removeMember } from '#shared/people/members/members.ts';
import { createUser, findUser, hasUser, refusingTakenEmail } from '#shared/people/members/users.ts';
import { roles } from '#shared/people/roles.ts';
import { resetPassword } from '#shared/people/sign-in/passwords.ts';
import { resetSecondFactor } from '#shared/people/sign-in/second-factor.ts';
import type { Database, Role } from '#shared/platform/database.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import {
  emailOption,
  jsonOption,
  type KeyRevocation,
  type Owner,
  organizationOption,
  revokeKeysOption,
  type Shown,
} from '../console/options.ts';
import { explain, printData, printList } from '../console/output.ts';
import {
  countOf,
  explainDisabledEndpoints,
  explainRemainingEndpoints,
  explainRemainingKeys,
} from '../console/remaining-keys.ts';
import type { Session } from '../console/session.ts';

interface User {
  email: string;
}

type Person = User & Owner;

/** A user of any organization, or of the given one. */
type AnyUser = User & Partial<Owner>;

interface PasswordSource {
  passwordStdin?: true;
}

const passwordHelp = `
A password is generated and printed once, alone on stdout, or read from stdin with --password-stdin. It is never an
argument: every user of the machine can read arguments, and the shell keeps them in its history.
`;

const secondFactorHelp = `
Make sure who asks for it: the password is then enough to sign in, until the user sets up another second factor. Reset the
password as well if someone else may know it.
`;

const roleOption = new Option('--role <role>', 'role in the organization')
  .choices(roles)
  .makeOptionMandatory();

/** Of commands that concern a user in every organization. */
const membershipOption = new Option(
  '--organization <id>',
  'refuse unless the user is a member of this organization',
);

const passwordOption = new Option(
  '--password-stdin',
  'read the password from stdin instead of generating one',
);

/** `user`: the users of the dashboard. */
export function addUserCommands(program: AdminCommand): void {
  const user = program.command('user').description('manage users of the dashboard');
  user
    .command('list')
    .description('list the members of an organization')
    .addOption(organizationOption)
    .addOption(jsonOption)
    .examples('user list --organization org_...')
    .run(listUsers);
  user
    .command('add')
    .description('create a user as a member of an organization; invites an existing user instead')
    .addOption(organizationOption)
    .addOption(emailOption)
    .addOption(roleOption)
    .addOption(passwordOption)
    .explanation(passwordHelp)
    .examples('user add --organization org_... --email ada@example.com --role owner')
    .run(addUser);
  user
    .command('reset-password')
    .description('set a new password, end all sessions of the user and clear lockouts')
    .addOption(membershipOption)
    .addOption(emailOption)
    .addOption(passwordOption)
    .explanation(passwordHelp)
    .examples('user reset-password --email ada@example.com')
    .run(resetUser);
  user
    .command('reset-second-factor')
    .description('remove the second factor of a user who lost their device, and end all their sessions')
    .addOption(membershipOption)
    .addOption(emailOption)
    .explanation(secondFactorHelp)
    .examples('user reset-second-factor --email ada@example.com')
    .run(resetUserSecondFactor);
  user
    .command('remove')
    .description('remove a member from an organization, except its last owner')
    .addOption(organizationOption)
    .addOption(emailOption)
    .addOption(revokeKeysOption)
    .examples(
      'user remove --organization org_... --email ada@example.com',
      'user remove --organization org_... --email ada@example.com --revoke-keys',
    )
    .run(removeUser);
  user
    .command('disable')
    .description(
      'end all sessions of a user, revoke the invitations that the user made, and refuse sign-ins in every organization until `user enable`',
    )
    .addOption(membershipOption)
    .addOption(emailOption)
    .addOption(revokeKeysOption)
    .examples('user disable --email ada@example.com --revoke-keys')
    .run(disable);
  user
    .command('enable')
    .description('let a disabled user sign in again')
    .addOption(membershipOption)
    .addOption(emailOption)
    .examples('user enable --email ada@example.com')
    .run(enable);
  user
    .command('delete')
    .description(
      'delete a user, revoke their API keys and the invitations that they made, disable the webhook endpoints of these keys, and erase the address; needs the owner of the database',
    )
    .addOption(emailOption)
    .explanation(
      '\nThis can\'t be undone. Run `user disable` first to see the API keys. The user\'s ID stays in timelines and the audit log, shown as "Deleted user".\n',
    )
    .examples('user delete --email ada@example.com')
    .run(deleteUserOf);
  user
    .command('set-up-code')
    .description('print the code for creating the first owner at /dashboard/set-up')
    .examples('user set-up-code')
    .run(printSetUpCode);
}

async function listUsers({ db }: Session, { organization, json }: Owner & Shown): Promise<void> {
  await findOrganization(db, organization);
  printList(await listMembers(db, organization), {
    json,
    empty: 'The organization has no members.',
    columns: {
      ID: ({ userId }) => userId,
      EMAIL: ({ email }) => email,
      ROLE: ({ role }) => role,
      SINCE: ({ since }) => since,
      STATUS: ({ isDisabled }) => (isDisabled ? 'disabled' : 'enabled'),
    },
  });
}

async function addUser(session: Session, options: Person & PasswordSource & { role: Role }): Promise<void> {
  const { organization: organizationId, email, role } = options;
  const { db, actor } = session;
  if (await hasUser(db, email)) {
    const acting = { administration: actor };
    const { token, expiresAt } = await invite(session, { organizationId, acting, email, role });
    explain(
      `${email} already has a user, who is invited as ${role} instead. Send them your dashboard's address with this path, which they open when signed in. It is shown once and expires ${expiresAt.toISOString()}:`,
    );
    return printData(`/dashboard/invitation/${token}`);
  }
  const { password, isNew } = await choosePassword(options);
  const { id } = await createUser(session, { organizationId, email, password, role, actor });
  explain(`Created ${id} as ${role}.`);
  if (isNew) printNewPassword(password);
}

async function resetUser(session: Session, options: AnyUser & PasswordSource): Promise<void> {
  const { password, isNew } = await choosePassword(options);
  const user = await chosenUser(session.db, options);
  await refusingTakenEmail(() => resetPassword(session, { user, password, actor: session.actor }));
  explain(`Reset the password of ${user.userId} and ended all sessions.`);
  if (isNew) printNewPassword(password);
}

async function resetUserSecondFactor(session: Session, options: AnyUser): Promise<void> {
  const { userId } = await chosenUser(session.db, options);
  await resetSecondFactor(session, { userId, actor: session.actor });
  explain(`Reset the second factor of ${userId} and ended all sessions.`);
}

async function chosenUser(
  db: Database,
  { organization, email }: AnyUser,
): Promise<User & { userId: string }> {
  return await (organization === undefined ? findUser(db, email) : findMember(db, organization, email));
}

async function printSetUpCode({ db, settings }: Session): Promise<void> {
  if (!(await needsFirstOwner(db)))
    return explain('The installation already has a user; the code is no longer valid.');
  printData(setupCode(settings.ENCRYPTION_KEY));
}

async function removeUser(session: Session, options: Person & KeyRevocation): Promise<void> {
  const { organization: organizationId, email, revokeKeys } = options;
  const { userId } = await findMember(session.db, organizationId, email);
  const acting = { administration: session.actor };
  const keptKeys = revokeKeys ? [] : 'all';
  const created = await removeMember(session, { organizationId, userId, acting, keptKeys });
  explain(`Removed ${userId} from ${organizationId}.`);
  explainCreated(created);
}

async function disable(session: Session, options: AnyUser & KeyRevocation): Promise<void> {
  const { revokeKeys: revokesKeys = false } = options;
  const { userId } = await chosenUser(session.db, options);
  const created = await disableUser(session, { userId, actor: session.actor, revokesKeys });
  explain(`Disabled ${userId}, ended all sessions and revoked open invitations of the user.`);
  explainCreated(created);
}

/** What became of the user's API keys and of the webhook endpoints that they created. */
function explainCreated({ ended, remaining }: Pick<Deletion, 'ended' | 'remaining'>): void {
  if (ended.keys.length > 0) explain(`Revoked ${countOf(ended.keys)} that the user created.`);
  explainDisabledEndpoints(ended.endpoints);
  explainRemainingKeys('the user', remaining.keys);
  explainRemainingEndpoints(remaining.endpoints);
}

async function enable(session: Session, options: AnyUser): Promise<void> {
  const { userId } = await chosenUser(session.db, options);
  await enableUser(session, { userId, actor: session.actor });
  explain(`Enabled ${userId}.`);
}

async function deleteUserOf(session: Session, { email }: User): Promise<void> {
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
}

function printNewPassword(password: string): void {
  explain('Password, shown once:');
  printData(password);
}

/** 120 random bits, as twenty letters, digits, dashes and underscores. */
const newPasswordBytes = 15;

/** The password for a command: the first line of stdin with `--password-stdin`, otherwise a new random one. */
async function choosePassword({
  passwordStdin,
}: PasswordSource): Promise<{ password: string; isNew: boolean }> {
  if (!passwordStdin) return { password: randomBytes(newPasswordBytes).toString('base64url'), isNew: true };
  if (process.stdin.isTTY)
    explain('Type the password, then press Enter and Ctrl-D. It is shown as you type.');
  const [line = ''] = (await text(process.stdin)).split(/\r?\n/, 1);
  return { password: line, isNew: false };
}
