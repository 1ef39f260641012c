import type { AuditAction } from '../../../../shared/platform/audit-log.ts';
import type { AuditLog } from '../../../../shared/platform/database.ts';

/** Acts as the end of a sentence that begins with who did it, in the order in which people look for them. */
const words: Readonly<Record<AuditAction, string>> = {
  'refund.created': 'created a refund',
  'refund.cancel_requested': 'asked for a refund to be cancelled',
  'refund.approved': 'approved a refund',
  'refund.rejected': 'rejected a refund',
  'refund.resolved': 'corrected a refund',
  'refund.flag_dismissed': "dismissed a refund's flag",
  'refund.rechecked': 'had a refund read again from the processor',
  'refunds.export_started': 'began to export refunds',
  'refunds.exported': 'exported refunds',
  'policies.set': 'changed the policies',
  'key.created': 'created an API key',
  'key.revoked': 'revoked an API key',
  'account.set': 'set the credentials of a processor account',
  'account.tested': 'tested the connection of a processor account',
  'invitation.created': 'invited somebody',
  'invitation.revoked': 'revoked an invitation',
  'member.added': 'became a member, or made somebody one',
  'member.role_changed': "changed a member's role",
  'member.removed': 'removed a member, or left',
  'user.created': 'joined, or was added',
  'user.signed_in': 'signed in',
  'user.signed_out': 'signed out',
  'user.password_changed': 'changed the own password',
  'user.password_reset': 'reset a password',
  'session.revoked': 'ended one of the own sessions',
  'sessions.revoked': 'ended all other sessions of the own',
  'queue.retry_requested': 'had jobs retried on the board of the queues',
  'queue.promotion_requested': 'had jobs run sooner on the board of the queues',
  'organization.created': 'created the organization',
};

/** The same, by the name of the act. */
export const actionWords: ReadonlyMap<string, string> = new Map(Object.entries(words));

/** The act in words; one that another version of the service has written is told by its name. */
export function wordsForAction(action: string): string {
  return actionWords.get(action) ?? action.replaceAll(/[._]/g, ' ');
}

/** The details of an act as one line, or as a text of several when there is more to them; null when there are none. */
export function wordsForDetail(detail: AuditLog['detail']): { text: string; isLong: boolean } | null {
  if (typeof detail !== 'object' || detail === null) return null;
  const facts = Object.entries(detail).filter(([, value]) => value !== null && value !== undefined);
  if (facts.length === 0) return null;
  if (facts.some(([, value]) => typeof value === 'object')) {
    return { text: JSON.stringify(detail, null, 2), isLong: true };
  }
  const text = facts.map(([name, value]) => `${wordsForName(name)}: ${String(value)}`).join(', ');
  return { text, isLong: false };
}

function wordsForName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
