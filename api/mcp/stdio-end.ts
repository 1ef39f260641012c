import { finished, type PassThrough, type Readable } from 'node:stream';
import { isJSONRPCRequest, isJSONRPCResponse, type RequestId } from '@modelcontextprotocol/server';
import type { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** How long requests are still answered after stdin has ended. */
export const longestWaitMs = 30_000;

/**
 * Passes stdin on to the input of a transport that serves. The end is passed on once every request has been answered, or after
 * `longestWaitMs`, because the transport drops the requests that are under way when its input ends.
 */
export function passStdinOn(stdin: Readable, input: PassThrough, transport: StdioServerTransport): void {
  const unanswered = new Set<RequestId>();
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    if (isJSONRPCRequest(message)) unanswered.add(message.id);
    onmessage?.(message);
  };
  let hasEnded = false;
  const endOnceAnswered = () => {
    if (hasEnded && unanswered.size === 0) input.end();
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (isJSONRPCResponse(message) && message.id !== undefined) unanswered.delete(message.id);
    endOnceAnswered();
  };
  stdin.pipe(input, { end: false });
  finished(stdin, { writable: false }, () => {
    hasEnded = true;
    setTimeout(() => input.end(), longestWaitMs).unref();
    // By then the transport has read what arrived with the end.
    setImmediate(endOnceAnswered);
  });
}
