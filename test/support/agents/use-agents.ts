import { afterEach, beforeAll } from 'vitest';
import type { ApiKeyScope } from '../../../shared/organizations/api-keys.ts';
import { createApiKey } from '../../../shared/organizations/api-keys.ts';
import type { Environment } from '../../../shared/platform/environment.ts';
import type { TestService } from '../service.ts';
import { type Agent, connectOverHttp } from './agent.ts';

export interface AgentKeyOptions {
  organizationId?: string;
  environment?: Environment;
  scopes?: readonly ApiKeyScope[];
}

/** Connects agents to a service that listens, each with a key of its own. */
export interface Agents {
  /** The address of the API. */
  origin(): string;
  /** Over HTTP; closed after the test. */
  connect(options?: AgentKeyOptions): Promise<Agent & { keyId: string }>;
}

export function useAgents(service: TestService): Agents {
  let origin = '';
  let open: Agent[] = [];
  beforeAll(async () => {
    origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(async () => {
    await Promise.all(open.map((agent) => agent.close()));
    open = [];
  });
  return {
    origin: () => origin,
    async connect({ organizationId = service.organization.id, environment = 'test', ...options } = {}) {
      const key = await createApiKey(service.deps, {
        organizationId,
        environment,
        actor: 'test',
        ...options,
      });
      const agent = await connectOverHttp(origin, key.plaintext);
      open.push(agent);
      return { ...agent, keyId: key.id };
    },
  };
}
