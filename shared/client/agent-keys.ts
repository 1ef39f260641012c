import { segment, type Transport } from './transport.ts';
import type {
  AgentKey,
  ChangeAgentKey,
  CreateAgentKey,
  CreatedAgentKey,
  DataOf,
  RequestOptions,
} from './types.ts';

const collection = '/v1/agent-keys';

/** API agent keys. */
export class AgentKeys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The result alone has the `key` itself. */
  async create(body: CreateAgentKey, options: RequestOptions = {}): Promise<CreatedAgentKey> {
    const request = { method: 'POST', path: collection, body, ...options } as const;
    return await this.#transport.data<'createAgentKey'>(request);
  }

  async list(options: RequestOptions = {}): Promise<AgentKey[]> {
    const request = { method: 'GET', path: collection, ...options } as const;
    return await this.#transport.data<'listAgentKeys'>(request);
  }

  /** Changes the name or the limits, or stops and resumes the key. */
  async update(id: string, body: ChangeAgentKey, options: RequestOptions = {}): Promise<AgentKey> {
    const request = { method: 'PATCH', path: pathOf(id), body, ...options } as const;
    return await this.#transport.data<'changeAgentKey'>(request);
  }

  /** Revokes the key for good. */
  async revoke(id: string, options: RequestOptions = {}): Promise<DataOf<'revokeAgentKey'>> {
    const request = { method: 'DELETE', path: pathOf(id), ...options } as const;
    return await this.#transport.data<'revokeAgentKey'>(request);
  }
}

const pathOf = (id: string) => `${collection}/${segment(id)}`;
