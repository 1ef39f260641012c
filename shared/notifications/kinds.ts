import type { Role } from '../platform/database.ts';

/** What members are told about, in display order. */
export const notificationKinds = ['approvals', 'attention', 'processors', 'webhooks', 'keys'] as const;

export type NotificationKind = (typeof notificationKinds)[number];

/** Tells a channel that messages arrive. */
export const channelTest = 'channel_test';

/** Links that are mailed to one address at once, which nobody can turn off. */
export const linkKinds = ['invitation', 'password_reset'] as const;

export type LinkKind = (typeof linkKinds)[number];

/** What a member gets by mail who has chosen nothing. */
export const kindsByRole: Readonly<Record<Role, readonly NotificationKind[]>> = {
  owner: notificationKinds,
  admin: notificationKinds,
  operator: ['approvals', 'attention', 'processors'],
  viewer: [],
};

/** What a channel gets. */
export const kindsOfChannel = { channel: notificationKinds } as const;
