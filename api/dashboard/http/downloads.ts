import { Readable, type Stream, type Writable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { byteOrderMark } from '#shared/platform/formats/csv.ts';

/** Exports of this process at a time. */
const limits = { perUser: 2, inAll: 8 };

/** A download of which a client reads nothing for this long is aborted, so that it does not occupy a place. */
const stallMs = 300_000;

/** The share of the shutdown time that downloads may take; the rest is for recording how they ended. */
const shutdownShare = 0.8;

/** The downloads of the dashboard. On shutdown they may finish within a part of the shutdown time; then they are aborted and recorded. */
export function openDownloads(scope: Api, { settings, closing }: ApiDependencies): Downloads {
  const downloads = new Downloads(stallMs);
  let overdue: NodeJS.Timeout | undefined;
  closing.addEventListener('abort', () => {
    overdue = setTimeout(() => downloads.abort(), settings.SHUTDOWN_TIMEOUT_MS * shutdownShare).unref();
  });
  scope.addHook('onClose', async () => {
    clearTimeout(overdue);
    downloads.abort();
    await downloads.ended();
  });
  return downloads;
}

/** Where a download goes: a response, as far as it is used here. */
type Receiver = Writable & { setTimeout(ms: number, onTimeout: () => void): unknown };

interface Download {
  userId: string;
  response: Receiver;
  ended: Promise<unknown>;
}

interface CsvFile {
  userId: string;
  name: string;
  lines: AsyncIterable<string>;
}

/** The downloads of this process. */
export class Downloads {
  readonly #running = new Set<Download>();
  readonly #stallMs: number;

  constructor(stallMs: number) {
    this.#stallMs = stallMs;
  }

  /** Responds with a file, as fast as the client reads. @throws ServiceError rate_limited. */
  send(reply: FastifyReply, { userId, name, lines }: CsvFile): FastifyReply {
    const stream = this.start(userId, reply.raw, marked(lines));
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${name}.csv"`)
      .send(stream);
  }

  /**
   * A stream of the lines for this response. It ends with the response, and counts against the limits until then.
   * @throws ServiceError rate_limited.
   */
  start(userId: string, response: Receiver, lines: AsyncIterable<string>): Readable {
    this.#refuseTooMany(userId);
    const stream = Readable.from(lines, { highWaterMark: 1 });
    response.setTimeout(this.#stallMs, () => response.destroy());
    const responseClosed = closed(response).then(() => stream.destroy());
    const ended = Promise.all([responseClosed, closed(stream)]);
    const download = { userId, response, ended };
    this.#running.add(download);
    ended.then(() => this.#running.delete(download));
    return stream;
  }

  abort(): void {
    for (const { response } of this.#running) response.destroy();
  }

  /** Resolves when all downloads have ended and the audit log has that. */
  async ended(): Promise<void> {
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }

  #refuseTooMany(userId: string): void {
    const own = [...this.#running].filter((each) => each.userId === userId).length;
    if (own < limits.perUser && this.#running.size < limits.inAll) return;
    const message =
      own < limits.perUser
        ? 'Too many exports are running. Try again in 30 seconds.'
        : `You already have ${own} exports running. Wait for one to finish or cancel its download, then export again.`;
    throw new ServiceError('rate_limited', message, { retryAfterSeconds: 30 });
  }
}

/** With the byte order mark, which leaves together with the first data. */
async function* marked(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let mark = byteOrderMark;
  for await (const part of lines) {
    yield mark + part;
    mark = '';
  }
}

async function closed(stream: Stream & { closed: boolean }): Promise<void> {
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
}
