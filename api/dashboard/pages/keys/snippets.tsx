import { Card } from '../../components/card.tsx';
import { CopyButton } from '../../components/values.tsx';
import { originOf } from '../../http/paths.ts';
import { useRequest } from '../../http/render.ts';

interface Snippet {
  client: string;
  /** Where its text goes, and what to know. */
  where: string;
  text: string;
}

/** How each client connects with a key. Their formats are those of docs/agents.md. */
function snippetsOf(url: string, key: string): Snippet[] {
  const authorization = `Bearer ${key}`;
  const headers = { Authorization: authorization };
  const file = (server: object) => JSON.stringify({ mcpServers: { refunds: server } }, null, 2);
  return [
    {
      client: 'Claude',
      where: 'Run it in the folder in which Claude Code works.',
      text: `claude mcp add --transport http refunds "${url}" --header "Authorization: ${authorization}"`,
    },
    {
      client: 'ChatGPT',
      where:
        "Apps in ChatGPT sign in with OAuth and can't send an API key, so use the OpenAI API. The service must have a public address.",
      text: openAi(url, authorization),
    },
    {
      client: 'Gemini CLI',
      where: 'In ~/.gemini/settings.json.',
      text: file({ httpUrl: url, headers }),
    },
    {
      client: 'Cursor',
      where: 'In ~/.cursor/mcp.json, or .cursor/mcp.json of a project.',
      text: file({ url, headers }),
    },
    {
      client: 'MCP SDK for TypeScript',
      where: 'With npm install @modelcontextprotocol/client.',
      text: typeScript(url, authorization),
    },
    {
      client: 'MCP SDK for Python',
      where: 'With pip install mcp, version 2.',
      text: python(url, authorization),
    },
  ];
}

function openAi(url: string, authorization: string): string {
  const server = { type: 'mcp', server_label: 'refunds', server_url: url };
  const tools = [{ ...server, headers: { Authorization: authorization }, require_approval: 'always' }];
  const body = JSON.stringify({ model: 'gpt-5', tools, input: 'List the latest refunds.' }, null, 2);
  return `curl https://api.openai.com/v1/responses -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" -d '${body}'`;
}

function typeScript(url: string, authorization: string): string {
  return `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client({ name: 'support', version: '1.0.0' });
const headers = { authorization: '${authorization}' };
await client.connect(new StreamableHTTPClientTransport(new URL('${url}'), { requestInit: { headers } }));
console.log(await client.callTool({ name: 'list_refunds', arguments: { limit: 1 } }));
await client.close();`;
}

function python(url: string, authorization: string): string {
  return `import asyncio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    async with httpx2.AsyncClient(headers={"Authorization": "${authorization}"}) as http:
        async with Client(streamable_http_client("${url}", http_client=http)) as client:
            print(await client.call_tool("list_refunds", {"limit": 1}))

asyncio.run(main())`;
}

/** What to paste into each client. @param plaintext the key, or what stands for it. */
export function Snippets({ plaintext }: { plaintext: string }) {
  const url = `${originOf(useRequest())}/mcp`;
  return (
    <Card id="connect" title="Connect a client">
      {snippetsOf(url, plaintext).map(({ client, where, text }) => (
        <details key={client} class="more">
          <summary>{client}</summary>
          <div class="stack-tight">
            <p class="small muted">{where}</p>
            <div class="secret">
              <pre>
                <code>{text}</code>
              </pre>
              <CopyButton text={text} label={`what connects ${client}`} />
            </div>
          </div>
        </details>
      ))}
    </Card>
  );
}
