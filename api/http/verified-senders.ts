import type { FastifyRequest } from 'fastify';
import { networkOf } from '../../shared/people/sign-in/network.ts';

const mostSenders = 10_000;

/**
 * The networks from which verified webhooks of an account have come. What else they send to the account is no stranger's, unlike
 * their requests about other accounts.
 */
export class VerifiedSenders {
  /** Those verified longest ago come first. */
  readonly #senders = new Set<string>();

  has(request: FastifyRequest): boolean {
    return this.#senders.has(senderOf(request));
  }

  add(request: FastifyRequest): void {
    const sender = senderOf(request);
    this.#senders.delete(sender);
    this.#senders.add(sender);
    const [oldest] = this.#senders;
    if (this.#senders.size > mostSenders && oldest !== undefined) this.#senders.delete(oldest);
  }

  /** Whose share of the places a request takes: its account's, or its network's if it is a stranger's. */
  ownerOf(request: FastifyRequest): string {
    return this.has(request) ? accountOf(request) : networkOf(request.ip);
  }
}

function senderOf(request: FastifyRequest): string {
  return `${networkOf(request.ip)} ${accountOf(request)}`;
}

function accountOf({ params }: FastifyRequest): string {
  return (params as { accountId: string }).accountId;
}
