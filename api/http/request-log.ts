import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from '#shared/platform/log.ts';

const maxPathLength = 200;

/** The query is not logged. Escapes in the path are resolved, because they would hide a key or card number from masking. */
function loggedRequest({ method, url, ip }: FastifyRequest): Record<string, unknown> {
  return { method, path: unescaped(url.split('?')[0] ?? '').slice(0, maxPathLength), remoteAddress: ip };
}

function unescaped(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return '[not a valid path]';
  }
}

/** Logs one line per request, once it is answered. */
export class RequestLog extends LogController {
  readonly #log: Logger;

  constructor(log: Logger) {
    super();
    // None of these fields has a secret's name; the finished line is masked like any other.
    this.#log = log.child({}, { redact: { paths: [] } });
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const { id: reqId } = request;
    const { statusCode, elapsedTime } = reply;
    // Rounded, because masking would examine a long run of decimals as a possible card number.
    const responseTime = Math.round(elapsedTime * 1_000) / 1_000;
    const line = { reqId, req: loggedRequest(request), res: { statusCode }, responseTime };
    if (error === null || error === undefined) this.#log.info(line, 'request completed');
    else this.#log.error({ ...line, err: error }, 'request errored');
  }
}

/** Logs nothing: the application that handed the request over does. */
export class HandedOverLog extends LogController {
  override incomingRequest(): void {}
  override requestCompleted(): void {}
}
