import { afterEach, beforeAll } from 'vitest';
import type { NewApiKey } from '#shared/organizations/api-keys.ts';
import type { TestService } from '../service.ts';
import { type Agent, connectOverHttp } from './agent.ts';

/** Connects agents to a service that listens, each with a key of its own. */
export interface Agents {
  /** The address of the API. */
  origin(): string;
  /** Over HTTP; closed after the test. */
  connect(key?: Partial<NewApiKey>): Promise<Agent & { keyId: string; plaintext: string }>;
}

export function useAgents(service: TestService): Agents {
  let origin = '';
  let open: Agent[] = [];
  beforeAll(async () => {
    origin = await service.url();
  });
  afterEach(async () => {
    await Promise.all(open.map((agent) => agent.close()));
    open = [];
  });
  return {
    origin: () => origin,
    async connect(options = {}) {
      const key = await service.newKey(options);
      const agent = await connectOverHttp(origin, key.plaintext);
      open.push(agent);
      return { ...agent, keyId: key.id, plaintext: key.plaintext };
    },
  };
}
