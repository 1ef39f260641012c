import type { Transport } from '../deliver/transport.ts';
import type { Message } from './compose-message.ts';

/** The receiver says that the URL of a channel no longer leads anywhere. */
export class ChannelGoneError extends Error {
  override readonly name = 'ChannelGoneError';
}

/**
 * Posts a message to a Slack-compatible incoming webhook.
 * @throws ChannelGoneError for 404 and 410, or another error when the receiver may accept it later.
 */
export async function postMessage(transport: Transport, url: string, message: Message): Promise<void> {
  const body = Buffer.from(JSON.stringify({ text: textOf(message) }));
  const { status, error } = await transport.post(url, { 'content-type': 'application/json' }, body);
  if (error !== null) throw new Error(`The channel could not be reached: ${error}`);
  if (status === 404 || status === 410)
    throw new ChannelGoneError(`The channel responded with status ${status}`);
  if (status === null || status < 200 || status > 299) {
    throw new Error(`The channel responded with status ${status}`);
  }
}

function textOf({ subject, lines }: Message): string {
  const [first] = lines;
  if (first !== undefined && lines.length === 1) return link(first.url, subject);
  return [escaped(subject), ...lines.map(({ text, url }) => `• ${link(url, text)}`)].join('\n');
}

function link(url: string, text: string): string {
  return `<${escaped(url)}|${escaped(text)}>`;
}

/** Without it, text such as <!channel> would mention people. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
