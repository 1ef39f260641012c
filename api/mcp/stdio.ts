import { PassThrough } from 'node:stream';
import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ProtocolError, Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { AgentSettings } from '../../shared/platform/config.ts';
import { version } from '../../shared/platform/version.ts';
import { passStdinOn } from './stdio-end.ts';

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
