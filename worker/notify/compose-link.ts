import type { LinkKind } from '#shared/notifications/kinds.ts';
import { type Message, oneLine } from './compose-message.ts';

/** Composes the mail with a link that its recipient waits for. @param url of the link. */
export function composeLink(kind: LinkKind, organizationName: string, url: string): Message {
  if (kind === 'invitation') {
    const name = oneLine(organizationName);
    return {
      subject: `Invitation to ${name}`,
      lines: [{ text: `Join ${name}. The link works once, for 7 days.`, url }],
      closing: `You get this because a member of ${name} invited you. If you expected no invitation, ignore it.`,
    };
  }
  return {
    subject: 'Set a new password',
    lines: [{ text: 'Set a new password. The link works once, for an hour.', url }],
    closing: 'You get this because a new password was requested for your address. If not by you, ignore it.',
  };
}
