import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from '../../shared/platform/log.ts';

/** Of a path no more than this is logged. */
const longestPath = 200;

/**
 * What is logged of a request: enough to follow it, and nothing that a client may have put where it does not belong. The
 * query is left out, and escapes in the path are resolved, because behind them a key or a number would not be recognized.
 */
function loggedRequest({ method, url, ip }: FastifyRequest): Record<string, unknown> {
  return { method, path: unescaped(url.split('?')[0] ?? '').slice(0, longestPath), remoteAddress: ip };
}

function unescaped(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return '[not a valid path]';
  }
}

/** Logs every request in one line, once it is answered. */
export class RequestLog extends LogController {
  readonly #log: Logger;

  constructor(log: Logger) {
    super();
    // None of these fields has a secret's name; the finished line is masked like every other.
    this.#log = log.child({}, { redact: { paths: [] } });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const { id: reqId } = request;
    const { statusCode, elapsedTime } = reply;
    // With all its decimals it would look like a card number, which masking has to look at closely.
    const responseTime = Math.round(elapsedTime * 1_000) / 1_000;
    const line = { reqId, req: loggedRequest(request), res: { statusCode }, responseTime };
    if (error === null || error === undefined) this.#log.info(line, 'request completed');
    else this.#log.error({ ...line, err: error }, 'request errored');
  }
}

/** Leaves it to the application that handed a request over to log it. */
export class HandedOverLog extends LogController {
  override incomingRequest(): void {}
  override requestCompleted(): void {}
}
