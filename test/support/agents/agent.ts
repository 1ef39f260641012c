import { resolve } from 'node:path';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, inject } from 'vitest';
import type { ParsedJson } from '../parsed-json.ts';

/** The result of a tool. */
export interface ToolAnswer {
  isError: boolean;
  content: ParsedJson;
}

/** An agent that is connected with the public client. */
export interface Agent {
  client: Client;
  /** Calls a tool, and checks that its text is the same as its structured content. */
  call(tool: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** @param origin such as http://127.0.0.1:3000 */
export async function connectOverHttp(origin: string, key: string, options?: ClientOptions): Promise<Agent> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return await connect(new StreamableHTTPClientTransport(new URL('/mcp', origin), { requestInit }), options);
}

/** The compiled program for stdio. */
export const stdioProgram = () => resolve(inject('compiledFolder'), 'api/mcp/stdio-main.js');

/** Starts the program for stdio as a client for the desktop does. */
export async function connectOverStdio(
  origin: string,
  key: string,
  { program = stdioProgram(), ...options }: ClientOptions & { program?: string } = {},
): Promise<Agent> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program],
    env: { REFUND_API_URL: origin, REFUND_API_KEY: key },
  });
  return await connect(transport, options);
}

async function connect(
  transport: Parameters<Client['connect']>[0],
  options: ClientOptions = {},
): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' }, options);
  await client.connect(transport);
  return {
    client,
    async call(tool, args = {}) {
      const {
        content,
        structuredContent,
        isError = false,
      } = await client.callTool({ name: tool, arguments: args });
      expect(content).toEqual([{ type: 'text', text: JSON.stringify(structuredContent) }]);
      return { isError, content: structuredContent };
    },
    close: () => client.close(),
  };
}
