import type { Role } from '../platform/database.ts';

/** The kinds of notifications, in display order. */
export const notificationKinds = ['approvals', 'attention', 'processors', 'webhooks', 'keys'] as const;

export type NotificationKind = (typeof notificationKinds)[number];

/** The kind of the test message of a channel. */
export const channelTest = 'channel_test';

/** Links that are mailed at once to one address, also if its user declines notifications. */
export const linkKinds = ['invitation', 'password_reset'] as const;

export type LinkKind = (typeof linkKinds)[number];

/** What a member gets by mail, unless the member has declined it. */
export const kindsByRole: Readonly<Record<Role, readonly NotificationKind[]>> = {
  owner: notificationKinds,
  admin: notificationKinds,
  operator: ['approvals', 'attention', 'processors'],
  viewer: [],
};

/** What a channel gets. */
export const kindsOfChannel = { channel: notificationKinds } as const;
