import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

/** A mail server that delivers nothing and keeps the last mails. */
export interface MailServer {
  /** For `SMTP_URL`. */
  url: string;
  /** The oldest first. */
  mails: Email[];
  /** How many of the next mails are refused, as by a server that is busy. */
  refuseNext: number;
  /** Addresses that are refused for good. */
  unknown: Set<string>;
  close(): Promise<void>;
}

const mostKept = 500;

/** @param port of 127.0.0.1; 0 picks a free one. */
export async function startMailServer(port = 0): Promise<MailServer> {
  const mails: Email[] = [];
  const unknown = new Set<string>();
  const smtp = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo({ address }, _session, done) {
      if (!unknown.has(address)) return done();
      done(Object.assign(new Error(`${address}: user unknown`), { responseCode: 550 }));
    },
    async onData(stream, _session, done) {
      try {
        const mail = await PostalMime.parse(await new Response(stream as never).arrayBuffer());
        if (server.refuseNext > 0) {
          server.refuseNext -= 1;
          return done(Object.assign(new Error('Try again later'), { responseCode: 451 }));
        }
        mails.push(mail);
        mails.splice(0, mails.length - mostKept);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  smtp.on('error', () => {});
  const listening = smtp.listen(port, '127.0.0.1');
  if (!listening.listening) await once(listening, 'listening');
  const server: MailServer = {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    mails,
    refuseNext: 0,
    unknown,
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  };
  return server;
}

/** A page with the mails, the newest first. Its content security policy lets a mail load and run nothing. */
export function mailPage(mails: readonly Email[]): { headers: Record<string, string>; body: string } {
  const shown = mails.toReversed().map(
    ({ subject, to, date, text, html }) => `<article><h2>${escaped(subject)}</h2>
<p>To ${escaped(to?.map(({ address }) => address).join(', '))}, ${escaped(date)}</p>
<pre>${escaped(text)}</pre>
<details><summary>HTML</summary><iframe sandbox="allow-popups" srcdoc="${escaped(html)}"></iframe></details></article>`,
  );
  return {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
    body: `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Mail</title>
<style>body{font:16px system-ui;max-width:48rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
article{border-top:1px solid #8888;padding:1rem 0}pre{white-space:pre-wrap;overflow-wrap:anywhere}iframe{width:100%;border:1px solid #8888}</style>
<h1>Mail</h1><p>What the service sent, newest first. Nothing leaves this machine.</p>
${shown.join('\n') || '<p>No mail yet.</p>'}</html>`,
  };
}

function escaped(text = ''): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
