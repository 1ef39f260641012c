import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

/**
 * A download of which nothing was taken for so long is given up. Between a reader who takes all the time and us there are
 * buffers of megabytes, which a slow reader may empty for minutes before there is room for more.
 */
const defaultStallMs = 300_000;

/**
 * The downloads of this process that are under way. Each is a response to somebody who may read slowly, or not at all, and
 * must hold neither its place nor the end of the process for ever.
 */
export class ExportDeliveries {
  readonly #responses = new Set<ServerResponse>();
  readonly #ends = new Set<Promise<void>>();
  readonly #stallMs: number;

  constructor(stallMs = defaultStallMs) {
    this.#stallMs = stallMs;
  }

  /**
   * What is to be sent as this response: it comes as fast as it is taken, and is broken off when the response is, or when no
   * further piece was taken for a while.
   */
  deliver(response: ServerResponse, pieces: AsyncIterable<string>): Readable {
    // Only the response can be ended when all has been handed on and the last of it is not taken.
    const stalled = setTimeout(() => response.destroy(), this.#stallMs);
    // One piece ahead is enough; the next one is read when this one is on its way.
    const stream = Readable.from(
      slicesOf(pieces, () => stalled.refresh()),
      { highWaterMark: 1 },
    );
    this.#responses.add(response);
    const over = () => {
      clearTimeout(stalled);
      this.#responses.delete(response);
      stream.destroy();
    };
    // Who asked may be gone already.
    if (response.closed) over();
    else response.once('close', over);
    const end = new Promise<void>((resolve) => stream.once('close', resolve));
    this.#ends.add(end);
    end.then(() => this.#ends.delete(end));
    return stream;
  }

  /** Breaks off whatever is under way. */
  breakOff(): void {
    for (const response of this.#responses) response.destroy();
  }

  /** Resolves when nothing is under way any more and all of it is written down. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends);
  }
}

/** Small enough that whoever reads at all takes one in time: a piece may have megabytes. */
const sliceBytes = 16 * 1024;

async function* slicesOf(
  pieces: AsyncIterable<string>,
  onTaken: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece);
    for (let from = 0; from < bytes.length; from += sliceBytes) {
      yield bytes.subarray(from, from + sliceBytes);
      onTaken();
    }
  }
}
