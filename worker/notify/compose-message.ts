import { formatAmount } from '#shared/money/money.ts';
import type { LinkKind, NotificationKind } from '#shared/notifications/kinds.ts';
import type { KnownOccasion } from '#shared/notifications/occasions.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { redact } from '#shared/platform/log.ts';
import { refusalTitle } from '#shared/processors/accounts/ability-wording.ts';
import { accountLabel } from '#shared/processors/registry.ts';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import type { FlagReason } from '#shared/refunds/model/flags.ts';
import type { WaitingReason } from '#shared/refunds/model/waiting.ts';

/** What a message says, before it takes the form of a mail. All texts are plain. */
export interface Message {
  subject: string;
  lines: Line[];
  /** Why the recipient gets it, and what they can do. */
  closing: string;
}

/** A sentence that links to a page. */
interface Line {
  text: string;
  url: string;
}

/** Where a message comes from. */
interface Place {
  organizationId: string;
  organizationName: string;
  environment: Environment;
}

/** Things that a message names one by one. */
const mostLines = 20;

/** Many things of a kind, and the page that shows them. */
const kinds: Readonly<Record<NotificationKind, { many: string; page: string }>> = {
  approvals: { many: 'refunds await approval', page: '/approvals' },
  attention: { many: 'things need attention', page: '' },
  processors: { many: 'processors hold up refunds', page: '/health' },
  webhooks: { many: 'webhook endpoints need attention', page: '' },
  keys: { many: 'API keys were created', page: '/settings/api-keys' },
};

/** Composes the message about some occasions of one environment, of which there is at least one. */
export function composeMessage(
  occasions: readonly KnownOccasion[],
  { organizationId, organizationName, environment }: Place,
  publicUrl: string,
): Message {
  const urlOf = (page: string) => `${publicUrl}/dashboard/${organizationId}/${environment}${page}`;
  const all = occasions.map((occasion) => {
    const [text, page] = describe(occasion);
    return { text, url: urlOf(page) };
  });
  const [first] = occasions;
  const isOneKind = occasions.every(({ kind }) => kind === first?.kind);
  const { many, page } =
    isOneKind && first !== undefined ? kinds[first.kind] : { many: 'notifications', page: '' };
  const summary = all.length === 1 ? (all[0]?.text ?? '') : `${all.length} ${many}`;
  const more = { text: `and ${all.length - mostLines} more`, url: urlOf(page) };
  return {
    subject: `${prefixOf({ organizationName, environment })} ${summary}`,
    lines: all.length > mostLines ? [...all.slice(0, mostLines), more] : all,
    closing: `You get this as a member of ${oneLine(organizationName)}.`,
  };
}

/** Composes the message that shows that a channel gets messages. */
export function composeTest({ organizationId, environment, ...place }: Place, publicUrl: string): Message {
  const url = `${publicUrl}/dashboard/${organizationId}/${environment}/settings/notifications`;
  const subject = `${prefixOf({ ...place, environment })} Test: notifications arrive here`;
  return { subject, lines: [{ text: subject, url }], closing: '' };
}

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

function prefixOf({ organizationName, environment }: Omit<Place, 'organizationId'>): string {
  return `[${oneLine(organizationName)}${environment === 'test' ? ', test' : ''}]`;
}

/** The sentence about an occasion, and the page that it leads to. */
function describe(occasion: KnownOccasion): [text: string, page: string] {
  const { target } = occasion;
  switch (occasion.about) {
    case 'approval':
      return [
        `Refund of ${formatAmount(BigInt(occasion.amount), occasion.currency)} awaits approval`,
        `/refunds/${target}`,
      ];
    case 'flag': {
      const { reason, facts, processor } = occasion;
      const { title } = wordsFor(reason as FlagReason, facts, processor);
      return [`Refund is flagged: ${title}`, `/refunds/${target}`];
    }
    case 'ability':
      return [refusalTitle(occasion, [occasion.ability]), `/settings/accounts/${target}`];
    case 'dispute': {
      const { transactionId } = occasion;
      return [
        `Payment ${transactionId} is disputed, and a refund of it is open`,
        `/payments/${encodeURIComponent(transactionId)}`,
      ];
    }
    case 'processor':
      return [`${accountLabel(occasion)} ${troubleOf(occasion.waitingFor)}`, '/health'];
    case 'endpoint': {
      const why =
        occasion.reason === 'gone' ? 'it replied 410 Gone' : 'it has not accepted an event for five days';
      return [`Webhook endpoint at ${oneLine(new URL(occasion.url).host)} was disabled: ${why}`, ''];
    }
    case 'failing endpoint': {
      const host = oneLine(new URL(occasion.url).host);
      return [`Webhook endpoint at ${host} has accepted no event for an hour`, `/webhooks/${target}`];
    }
    case 'failing channel':
      return [
        `The channel at ${oneLine(occasion.host)} has accepted no notification for an hour`,
        '/settings/notifications',
      ];
    case 'gone channel':
      return [
        `The channel at ${oneLine(occasion.host)} is gone, and gets no more notifications`,
        '/settings/notifications',
      ];
    case 'batch': {
      const { rejected } = occasion;
      const rows = rejected === 1 ? '1 row was' : `${rejected} rows were`;
      return [`A refund batch has finished, and ${rows} rejected`, `/batches/${target}`];
    }
    case 'key': {
      const name = oneLine(occasion.name) || 'without a name';
      return [`API key ${name} (...${occasion.lastFour}) was created`, '/settings/api-keys'];
    }
  }
}

function troubleOf(waitingFor: string | null): string {
  return waitingFor === ('rate_limited' satisfies WaitingReason)
    ? 'takes no more requests of the account for now'
    : 'does not answer';
}

/** What someone entered, without line breaks, secrets and card numbers. */
function oneLine(text: string): string {
  return redact(text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim());
}
