import nodemailer from 'nodemailer';
import type { ServiceSettings } from '#shared/platform/config.ts';
import type { Message } from './compose-message.ts';

/** The mail server refused an address, or a mail to it, for good. Its words are left out, because they repeat the address. */
export class MailRefusedError extends Error {
  override readonly name = 'MailRefusedError';
}

/** Sends mail. */
export interface Mailer {
  /**
   * @param messageId the same in every attempt, so that a mail server or reader can drop a repetition.
   * @throws MailRefusedError, or another error when the mail may be accepted later.
   */
  send(to: string, message: Message, messageId: string): Promise<void>;
  close(): void;
}

/** Mails that a process sends at once. */
const mostConnections = 3;

/** The longest silence of the server. */
const silenceMs = 20_000;

/** The longest time for a mail, with its wait for a connection, even if the server keeps sending. Shorter than the lease of a message. */
const longestMs = 120_000;

/** Null without a mail server. */
export function openMailer({ SMTP_URL, MAIL_FROM, PUBLIC_URL }: ServiceSettings): Mailer | null {
  if (SMTP_URL === null || MAIL_FROM === null || PUBLIC_URL === null) return null;
  const limits = { connectionTimeout: silenceMs, greetingTimeout: silenceMs, socketTimeout: silenceMs };
  // Texts are never read as the names of files or addresses to attach.
  const safe = { disableFileAccess: true, disableUrlAccess: true };
  const server = nodemailer.createTransport({
    ...{ url: SMTP_URL, pool: true, maxConnections: mostConnections, ...limits, ...safe },
  });
  const { hostname } = new URL(PUBLIC_URL);
  return {
    async send(to, message, messageId) {
      const { subject } = message;
      const headers = { 'Auto-Submitted': 'auto-generated' };
      const content = { subject, text: textOf(message), html: htmlOf(message), headers };
      const signal = AbortSignal.timeout(longestMs);
      const mail = { ...content, from: MAIL_FROM, to, messageId: `<${messageId}@${hostname}>`, signal };
      await server.sendMail(mail).catch((error: unknown) => {
        throw refusalOf(error) ?? error;
      });
    },
    close: () => server.close(),
  };
}

/** Null unless it is permanent and about this mail. A refused sender or password concerns all mails, which wait for the operator. */
function refusalOf(error: unknown): MailRefusedError | null {
  const { responseCode = 0, command = '' } = error as { responseCode?: number; command?: string };
  const isAboutThis = command === 'RCPT TO' || command === 'DATA';
  if (responseCode < 500 || !isAboutThis) return null;
  return new MailRefusedError(`The mail server answered ${command} with ${responseCode}`);
}

function textOf({ lines, closing }: Message): string {
  return [...lines.map(({ text, url }) => `${text}\n${url}`), `--\n${closing}`].join('\n\n');
}

function htmlOf({ lines, closing }: Message): string {
  const items = lines.map(({ text, url }) => `<p><a href="${escaped(url)}">${escaped(text)}</a></p>`);
  return `${items.join('\n')}\n<p style="color: #666">${escaped(closing)}</p>`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
