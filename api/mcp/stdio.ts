import { finished, PassThrough, type Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolError,
  type RequestId,
  Server,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { AgentSettings } from '#shared/platform/config.ts';
import { version } from '#shared/platform/version.ts';

/**
 * Serves the tools of an API on stdin and stdout, for clients that start a server as a process. It passes every request to
 * the `/mcp` of the API. stdout carries the protocol alone. When stdin ends, requests that are under way are still answered.
 * @throws Error with one line when the API cannot be reached or refuses the key.
 */
export async function serveTools({ REFUND_API_URL, REFUND_API_KEY }: AgentSettings): Promise<void> {
  const client = new Client({ name: 'refund-service-stdio', version });
  const pass = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
    answer.catch((error: unknown) => {
      throw error instanceof ProtocolError ? error : new Error(explain(error, REFUND_API_URL));
    });
  const toApi = new StreamableHTTPClientTransport(new URL(`${REFUND_API_URL.replace(/\/+$/, '')}/mcp`), {
    fetch: fetchUnlessBusy,
    requestInit: { headers: { authorization: `Bearer ${REFUND_API_KEY}` } },
  });
  await pass(client.connect(toApi));
  const input = new PassThrough();
  const transport = new StdioServerTransport(input);
  const serverFor = () => {
    const instructions = client.getInstructions();
    const server = new Server(client.getServerVersion() ?? { name: 'refund-service', version }, {
      capabilities: { tools: {} },
      ...(instructions === undefined ? {} : { instructions }),
    });
    server.setRequestHandler('tools/list', () => pass(client.request({ method: 'tools/list' })));
    server.setRequestHandler('tools/call', ({ params }) =>
      pass(client.request({ method: 'tools/call', params })),
    );
    return server;
  };
  serveStdio(serverFor, { transport });
  input.once('end', () => void client.close());
  passStdinOn(process.stdin, input, transport);
}

/** Repeats a request up to three times while the API is busy (429, 503), which means that nothing was changed. */
async function fetchUnlessBusy(url: string | URL, init?: RequestInit): Promise<Response> {
  for (let repeats = 0; ; repeats += 1) {
    const response = await fetch(url, init);
    const retryAfterMs = Number(response.headers.get('retry-after')) * 1_000;
    if (![429, 503].includes(response.status) || repeats === 3 || retryAfterMs > 5_000) return response;
    await response.body?.cancel();
    await pause(retryAfterMs, null, init?.signal ? { signal: init.signal } : {});
  }
}

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

/** What is wrong and what to do, in one line. */
function explain(error: unknown, apiUrl: string): string {
  if (!(error instanceof SdkHttpError)) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    const reason = cause instanceof Error ? (codeOf(cause) ?? cause.message) : String(cause);
    return `The API at ${apiUrl} cannot be reached (${reason}). Check REFUND_API_URL, and that the API is running.`;
  }
  if (error.status === 401) {
    return 'The API refused REFUND_API_KEY: it is unknown, revoked or expired. Set a valid key.';
  }
  return (
    messageIn(error.data.text) ??
    `The server at ${apiUrl} is not the refund API: HTTP ${error.status}. Check REFUND_API_URL.`
  );
}

function codeOf(error: Error): string | null {
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** The message of an error of the API; null for any other body. */
function messageIn(body: unknown): string | null {
  try {
    const message: unknown = JSON.parse(String(body)).error.message;
    return typeof message === 'string' ? message : null;
  } catch {
    return null;
  }
}
