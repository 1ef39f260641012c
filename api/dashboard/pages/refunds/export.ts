import { Readable, type Stream, type Writable } from 'node:stream';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { auditedExport } from '#shared/refunds/queries/export-refunds.ts';
import { confirmMember, contextOf } from '../../http/access.ts';
import { enteredFilter, readFilter } from './filter.ts';

/** Exports of this process at a time. */
const limits = { perUser: 2, inAll: 8 };

/** A download of which a client reads nothing for this long is aborted, so that it does not occupy a place. */
const stallMs = 300_000;

/** The share of the shutdown time that downloads may take; the rest is for recording how they ended. */
const shutdownShare = 0.8;

/** `/refunds/export`: the filtered refunds as CSV, streamed as fast as the client reads. */
export function refundExport(scope: Api, deps: ApiDependencies): void {
  const downloads = new Downloads(stallMs);
  abortOnClose(scope, deps, downloads);

  // A HEAD request must not start an export.
  const options = { config: { role: 'viewer' as const }, exposeHeadRoute: false };
  scope.get('/refunds/export', options, async (request, reply) => {
    const { owner, actor, user, environment } = contextOf(request);
    const reading = readFilter(enteredFilter(request.query));
    if (reading.kind === 'invalid') {
      throw new ServiceError('validation_error', 'The filter is invalid. Go back to the list and fix it.');
    }
    downloads.refuseTooMany(user.id);
    // A long download must not outlast the membership.
    const confirm = () => confirmMember(deps, request);
    const lines = auditedExport(deps, { owner, filter: reading.value, actor, confirm });
    const day = deps.clock.now().toISOString().slice(0, 10);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="refunds-${environment}-${day}.csv"`)
      .send(downloads.start(user.id, reply.raw, lines));
  });
}

/** On shutdown downloads may finish within a part of the shutdown time; then they are aborted and recorded. */
function abortOnClose(scope: Api, { settings, closing }: ApiDependencies, downloads: Downloads): void {
  let overdue: NodeJS.Timeout | undefined;
  closing.addEventListener('abort', () => {
    overdue = setTimeout(() => downloads.abort(), settings.SHUTDOWN_TIMEOUT_MS * shutdownShare).unref();
  });
  scope.addHook('onClose', async () => {
    clearTimeout(overdue);
    downloads.abort();
    await downloads.ended();
  });
}

/** Where a download goes: a response, as far as it is used here. */
type Receiver = Writable & { setTimeout(ms: number, onTimeout: () => void): unknown };

interface Download {
  userId: string;
  response: Receiver;
  ended: Promise<unknown>;
}

/** The downloads of this process. */
export class Downloads {
  readonly #running = new Set<Download>();
  readonly #stallMs: number;

  constructor(stallMs: number) {
    this.#stallMs = stallMs;
  }

  /** @throws ServiceError rate_limited. */
  refuseTooMany(userId: string): void {
    const own = [...this.#running].filter((each) => each.userId === userId).length;
    if (own < limits.perUser && this.#running.size < limits.inAll) return;
    const message =
      own < limits.perUser
        ? 'Too many exports are running. Try again in 30 seconds.'
        : `You already have ${own} exports running. Wait for one to finish or cancel its download, then export again.`;
    throw new ServiceError('rate_limited', message, { retryAfterSeconds: 30 });
  }

  /** A stream of the lines for this response. It ends with the response, and counts against the limits until then. */
  start(userId: string, response: Receiver, lines: AsyncIterable<string>): Readable {
    const stream = Readable.from(lines, { highWaterMark: 1 });
    response.setTimeout(this.#stallMs, () => response.destroy());
    const responseClosed = closed(response).then(() => stream.destroy());
    const ended = Promise.all([responseClosed, closed(stream)]);
    const download = { userId, response, ended };
    this.#running.add(download);
    ended.then(() => this.#running.delete(download));
    return stream;
  }

  /** Aborts all downloads. */
  abort(): void {
    for (const { response } of this.#running) response.destroy();
  }

  /** Resolves when all downloads have ended and the audit log has that. */
  async ended(): Promise<void> {
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }
}

async function closed(stream: Stream & { closed: boolean }): Promise<void> {
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve));
}
