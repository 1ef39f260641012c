import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { noteFirstTool } from '#shared/organizations/find-api-key.ts';
import type { ApiKey } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import type { Logger } from '#shared/platform/log.ts';
import { version } from '#shared/platform/version.ts';
import { processorKinds } from '#shared/processors/registry.ts';
import type { RequestOutcome } from '#shared/refunds/requests/key-requests.ts';
import type { ApiDependencies } from '../http/dependencies.ts';
import { errorBody, logFailure, toServiceError } from '../http/error-handler.ts';
import { requireScope, scopesOf } from '../http/operation-routes.ts';
import type { Operation } from '../operations/operation.ts';
import { inputSchemaOf, outputSchemaOf, readArguments } from './schemas.ts';
import { type Tool, tools } from './tools.ts';

const toolsByName = new Map(tools.map((tool) => [tool.name, tool]));

const listedTools = tools.map((tool) => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: inputSchemaOf(tool),
  outputSchema: outputSchemaOf(tool),
  annotations: { title: tool.title, ...tool.annotations },
}));

const places = Object.values(processorKinds).map(({ displayName }) => displayName);

const instructions =
  `Refunds of payments at ${places.join(' and ')}. ` +
  'Amounts are whole numbers in minor units of the currency: 1050 is 10.50 USD. ' +
  'A refund moves money and cannot be taken back once it is completed. Errors have a code and a message that says what would ' +
  'be accepted; do not work around a refusal by splitting an amount or changing the reason.';

/** Who calls, and where to log. */
interface Caller {
  key: ApiKey;
  /** Takes the refund that a call created. */
  onCreated: (created: NonNullable<RequestOutcome<unknown>['created']>) => void;
  log: Pick<Logger, 'debug' | 'error' | 'info'>;
  /** How long a call may wait. */
  waitMsOf: (operation: Operation) => number;
}

/**
 * Answers one message of the Model Context Protocol. Nothing is kept between messages, so any API process can answer.
 * @param message its headers and parsed body; undefined without a body.
 */
export async function answerMcp(
  deps: ApiDependencies,
  caller: Caller,
  message: { headers: Headers; body: unknown },
): Promise<Response> {
  // The tools never change, so there is nothing to subscribe to.
  const handler = createMcpHandler(() => serverFor(deps, caller), { maxSubscriptions: 0 });
  const request = new Request('http://localhost/mcp', { method: 'POST', headers: message.headers });
  return await handler.fetch(request, { parsedBody: message.body });
}

function serverFor(deps: ApiDependencies, caller: Caller): Server {
  const server = new Server(
    { name: 'refund-service', title: 'Refund service', version },
    { capabilities: { tools: {} }, instructions },
  );
  server.setRequestHandler('tools/list', () => ({ tools: listedTools }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = toolsByName.get(params.name);
    if (tool === undefined) throw unknownTool();
    noteFirstTool(deps.db, caller.key, tool.name, deps.clock.now()).catch((err: unknown) => {
      caller.log.debug({ err }, 'the first tool of a key was not recorded');
    });
    return await callTool(deps, caller, tool, params.arguments ?? {});
  });
  return server;
}

/** The protocol requires a protocol error here, not a tool result. */
function unknownTool(): ProtocolError {
  const names = [...toolsByName.keys()].join(', ');
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool. The tools are: ${names}.`);
}

/** The result as structured content and, for clients without it, the same as text. Errors have `code` and `message`. */
async function callTool(deps: ApiDependencies, caller: Caller, tool: Tool, given: unknown) {
  const { key, log } = caller;
  try {
    for (const scope of scopesOf(tool.operation)) await requireScope(deps.db, key, scope);
    return resultOf(await runTool(deps, caller, tool, given));
  } catch (cause) {
    const refusal = toServiceError(cause);
    logFailure(log, refusal, cause);
    const { code, message } = errorBody(refusal).error;
    return { ...resultOf({ code, message }), isError: true };
  }
}

async function runTool(
  deps: ApiDependencies,
  { key: apiKey, onCreated, waitMsOf }: Caller,
  tool: Tool,
  given: unknown,
): Promise<object> {
  let isReplayed = false;
  const call = await tool.callOf(readArguments(tool, given), deps, apiKey);
  const answer = await tool.operation.run(deps, {
    ...{ apiKey, actor: `key:${apiKey.id}`, source: 'mcp' },
    ...{ params: {}, query: {}, body: {}, idempotency: null },
    waitMs: waitMsOf(tool.operation),
    report(outcome) {
      isReplayed = outcome.isReplayed;
      if (outcome.created !== undefined) onCreated(outcome.created);
      if (outcome.answer instanceof ServiceError) throw outcome.answer;
      return outcome.answer;
    },
    ...call,
  });
  const [field = ''] = Object.keys(tool.outputs[0]?.shape ?? {});
  return tool.resultOf?.(answer as object, call, isReplayed) ?? { [field]: answer };
}

/**
 * Characters that show text in another order than it has, or not at all. Agents and the people who watch them would read different things.
 * Those that emoji, Persian and Indic scripts need stay, one or two at a time: a longer run could be a message.
 */
const hiddenMarks = /\p{DI}{3,}|(?!\u200c|\u200d|\ufe0f)\p{DI}/gu;

function resultOf(content: object) {
  const text = JSON.stringify(content).replaceAll(hiddenMarks, '');
  return { content: [{ type: 'text' as const, text }], structuredContent: JSON.parse(text) };
}
