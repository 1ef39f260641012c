import { PassThrough } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { longestWaitMs, passStdinOn } from '#api/mcp/stdio.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A transport that has read one request, whose stdin has ended. */
async function withRequest() {
  const [stdin, input, stdout] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport(input, stdout);
  const received = new Promise((settle) => {
    transport.onmessage = settle;
  });
  const closed = vi.fn();
  transport.onclose = closed;
  await transport.start();
  passStdinOn(stdin, input, transport);
  stdin.end('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  await received;
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  return { transport, closed };
}

test('the end of stdin is passed on after the longest wait', async () => {
  const { closed } = await withRequest();
  vi.advanceTimersByTime(longestWaitMs - 1);
  await new Promise(setImmediate);
  expect(closed).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  await vi.waitFor(() => expect(closed).toHaveBeenCalledOnce());
});
