import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServiceSettings } from '#shared/platform/config.ts';
import { networkOf } from '#shared/platform/network.ts';
import type { ApiDependencies } from './dependencies.ts';
import { OverloadError } from './overload.ts';

/**
 * A number of places that owners share. An owner may take another one while it holds fewer than are free: alone it gets half of
 * them, and each one after it half of what is left, until about ten owners have filled it.
 */
export class Room {
  readonly #max: number;
  #taken = 0;
  readonly #held = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** True while no place is free. */
  get isFull(): boolean {
    return this.#taken >= this.#max;
  }

  admits(owner: string): boolean {
    return (this.#held.get(owner) ?? 0) < this.#max - this.#taken;
  }

  enter(owner: string): void {
    this.#taken += 1;
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + 1);
  }

  leave(owner: string): void {
    this.#taken -= 1;
    const held = (this.#held.get(owner) ?? 0) - 1;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
  }
}

/** How much of one class of callers may be under way at once. Each class has places of its own, so none is refused because of another. */
export interface ClassOfCallers {
  /** Requests of which the body is read. */
  uploads: Room;
  /** Requests that are worked on. It also bounds how many wait for a database connection. */
  work: Room;
  /** Requests that wait for something else than the database, such as a processor. */
  waits: Room;
}

/** Clients with an API key, networks that have sent verified webhooks, other senders of webhooks, and people with a browser. */
export type Classes = Record<'clients' | 'processors' | 'unverified' | 'people', ClassOfCallers>;

export function openClasses(settings: ServiceSettings): Classes {
  const { MAX_REQUESTS_IN_PROGRESS, MAX_WEBHOOKS_IN_PROGRESS, MAX_PAGES_IN_PROGRESS } = settings;
  const open = (max: number, mostWaiting = max): ClassOfCallers => ({
    uploads: new Room(max),
    work: new Room(max),
    waits: new Room(mostWaiting),
  });
  return {
    clients: open(MAX_REQUESTS_IN_PROGRESS, settings.MAX_REQUESTS_WAITING),
    processors: open(MAX_WEBHOOKS_IN_PROGRESS),
    unverified: open(Math.ceil(MAX_WEBHOOKS_IN_PROGRESS / 2)),
    people: open(MAX_PAGES_IN_PROGRESS),
  };
}

const tooMany = () => new OverloadError('the maximum of requests is in progress');

/** The place of a request. */
class Place {
  readonly #owner: string;
  readonly #class: ClassOfCallers;
  #room: Room | null = null;
  #waits = 0;
  #hasEnded = false;
  /** True when it did not wait because too many others do. */
  isUnawaited = false;

  constructor(owner: string, classOfCallers: ClassOfCallers) {
    this.#owner = owner;
    this.#class = classOfCallers;
  }

  /** True when the body may be read: there is a place for that, and one to work on it. */
  upload(): boolean {
    return this.#class.work.admits(this.#owner) && this.#enter(this.#class.uploads);
  }

  /** True when the request may be worked on. */
  work(): boolean {
    return this.#enter(this.#class.work);
  }

  /**
   * Waits, if possible in a place for that. Without one, `instead` answers at once, or the request keeps its place. Afterwards it is
   * finished even if no place is free.
   */
  readonly whileWaiting: ApiDependencies['whileWaiting'] = async (wait, instead) => {
    const { waits, work } = this.#class;
    if (this.#room !== waits && !this.#enter(waits) && instead !== undefined) {
      this.isUnawaited = true;
      return instead();
    }
    this.#waits += 1;
    try {
      return await wait();
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0 && !this.#hasEnded) this.#move(work);
    }
  };

  end(): void {
    this.#hasEnded = true;
    this.#move(null);
  }

  #enter(room: Room): boolean {
    const isAdmitted = room.admits(this.#owner);
    if (isAdmitted) this.#move(room);
    return isAdmitted;
  }

  #move(room: Room | null): void {
    this.#room?.leave(this.#owner);
    room?.enter(this.#owner);
    this.#room = room;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes behind `limitInProgress`, once their request is worked on. */
    place: Place | null;
    /** Those of the instance, with the request's place. */
    deps: ApiDependencies;
  }
}

/**
 * Handles few requests of this instance at once, because each takes much memory. Call it within
 * `limitInProgress`.
 * @param options.isLarge which of them; all by default.
 * @param options.most how many, which owners share.
 */
export function fewAtOnce(
  app: FastifyInstance,
  ownerOf: (request: FastifyRequest) => string,
  {
    isLarge = () => true,
    most = mostLarge,
  }: { isLarge?: (request: FastifyRequest) => boolean; most?: number } = {},
): void {
  const room = new Room(most);
  const owners = new WeakMap<FastifyRequest, string>();
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (!isLarge(request)) return done(null, payload);
    const owner = ownerOf(request);
    if (!room.admits(owner)) return done(tooMany(), payload);
    room.enter(owner);
    owners.set(request, owner);
    done(null, payload);
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    const owner = owners.get(request);
    if (owner !== undefined) room.leave(owner);
    owners.delete(request);
    done(null, payload);
  });
}

const mostLarge = 4;

/**
 * Gives each request of this instance a place while its body is read, and one while it is worked on and its response read, or
 * refuses it.
 * @param ownerOf whose share of the places a request takes; by default, its network's.
 */
export function limitInProgress(
  app: FastifyInstance,
  classOf: (request: FastifyRequest) => ClassOfCallers,
  ownerOf: (request: FastifyRequest) => string = ({ ip }) => networkOf(ip),
): void {
  app.decorateRequest('place', null);
  app.decorateRequest('deps');
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const place = new Place(ownerOf(request), classOf(request));
    request.place = place;
    request.deps = { ...app.deps, whileWaiting: place.whileWaiting };
    done(place.upload() ? null : tooMany(), payload);
  });
  app.addHook('preValidation', ({ place }, _reply, done) => {
    done(place?.work() === false ? tooMany() : undefined);
  });
  // onSend rather than onResponse, which does not wait for the work of a client that has disconnected. A response takes memory until
  // the client has read it.
  app.addHook('onSend', ({ place }, reply, payload, done) => {
    if (place?.isUnawaited) reply.removeHeader('preference-applied');
    const { raw } = reply;
    if (raw.destroyed) place?.end();
    else raw.once('close', () => place?.end());
    done(null, payload);
  });
}
