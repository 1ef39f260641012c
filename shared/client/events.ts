import { pause } from './deadline.ts';
import type { Transport } from './transport.ts';
import type { EventPage, ListEvents, RefundEvent } from './types.ts';

/** The pause after an empty page. Without it, a service that does not wait would get requests in a tight loop. */
const idleMs = 200;

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page, oldest first. Continue with `after` set to its `nextAfter`. */
  async list({ wait, signal, ...query }: ListEvents = {}): Promise<EventPage> {
    return await this.#transport.send<'listEvents'>({
      method: 'GET',
      path: '/v1/events',
      query,
      wait,
      signal,
    });
  }

  /**
   * Every event from `after` on, or from the first, and new ones as they happen. It ends when `signal` is aborted.
   * To continue later, pass the id of the last event as `after`.
   * @param wait seconds to wait for an event per request.
   * @throws RefundApiError when the service is not available for longer than the retries of a request.
   */
  async *all(options: Omit<ListEvents, 'limit'> = {}): AsyncGenerator<RefundEvent, void, undefined> {
    const { after: start, wait = 25, type, signal } = options;
    let after = start;
    try {
      for (;;) {
        const page = await this.list({ after, type, limit: 100, wait, signal });
        for (const event of page.data) {
          if (signal?.aborted) return;
          yield event;
        }
        after = page.nextAfter ?? after;
        if (page.data.length === 0) await pause(idleMs, signal);
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }
}
