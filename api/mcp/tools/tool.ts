import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { ApiKeyScope } from '../../../shared/organizations/api-keys.ts';
import type { ApiKey } from '../../../shared/platform/database.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';

/** A tool for agents. Its texts are what the agent chooses by. */
export interface Tool<Input extends z.ZodType = z.ZodType> {
  name: string;
  title: string;
  description: string;
  /** The scope that the API route with the same effect requires. */
  scope: ApiKeyScope;
  annotations: ToolAnnotations;
  input: Input;
  /** The objects that it returns: always one of these. */
  outputs: readonly z.ZodObject[];
  /** @throws ServiceError for what the agent is refused. */
  run(deps: ApiDependencies, key: ApiKey, input: z.output<Input>): Promise<object>;
}

/** Checks a tool's types, which a list of tools does not keep. */
export function defineTool<Input extends z.ZodType>(tool: Tool<Input>): Tool {
  return tool as Tool;
}
