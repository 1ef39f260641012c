import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServiceSettings } from '#shared/platform/config.ts';
import { OverloadError } from './overload.ts';

// The rule: a request has a place among those that work, or among those that wait, or is refused at once.

/**
 * A number of places that owners share. An owner may take another one while it holds fewer than are free: alone it gets half of
 * them, and each one after it half of what is left, until about ten owners have filled it.
 */
export class Bound {
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

/** The places of one class of callers. Each class has its own, so none is refused because of another. */
export interface Places {
  /** Requests whose body is read, that are worked on, or whose response the client has not read. */
  working: Bound;
  /** Requests that may wait for an outcome, an event or a processor. */
  waiting: Bound;
}

export function openPlaces(working: number, waiting = 0): Places {
  return { working: new Bound(working), waiting: new Bound(waiting) };
}

/** Clients with an API key, processors with webhooks of known accounts, senders of other webhooks, and people with a browser. */
export type AllPlaces = Record<'clients' | 'processors' | 'unknownSenders' | 'people', Places>;

export function openAllPlaces(settings: ServiceSettings): AllPlaces {
  const { MAX_REQUESTS_IN_PROGRESS, MAX_WEBHOOKS_IN_PROGRESS, MAX_PAGES_IN_PROGRESS } = settings;
  return {
    clients: openPlaces(MAX_REQUESTS_IN_PROGRESS, settings.MAX_REQUESTS_WAITING),
    processors: openPlaces(MAX_WEBHOOKS_IN_PROGRESS, MAX_WEBHOOKS_IN_PROGRESS),
    unknownSenders: openPlaces(Math.ceil(MAX_WEBHOOKS_IN_PROGRESS / 2)),
    people: openPlaces(MAX_PAGES_IN_PROGRESS),
  };
}

/** Which places a request takes one of, and whose share of them. */
export interface Admission {
  places: Places;
  owner: string;
}

/** The place of a request. */
class Place {
  readonly #admission: Admission;
  #bound: Bound | null = null;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /** @returns false when its owner has no place left. */
  work(): boolean {
    return this.#enter(this.#admission.places.working);
  }

  /** Waits in place of working. @returns false when its owner has no place left for that; then it keeps the one that it has. */
  wait(): boolean {
    return this.#enter(this.#admission.places.waiting);
  }

  /** Works on what it waited for, in the place that it has if no other is free. */
  finish(): void {
    if (this.#bound !== null) this.#enter(this.#admission.places.working);
  }

  leave(): void {
    this.#move(null);
  }

  #enter(bound: Bound): boolean {
    const isAdmitted = bound.admits(this.#admission.owner);
    if (isAdmitted) this.#move(bound);
    return isAdmitted;
  }

  #move(bound: Bound | null): void {
    this.#bound?.leave(this.#admission.owner);
    bound?.enter(this.#admission.owner);
    this.#bound = bound;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on routes behind `admit`, once their headers were read. */
    place: Place | null;
  }
}

/**
 * Gives each request of this instance a place from its headers until its response is read, or refuses it.
 * @param admissionOf null to leave a request the place that a surrounding instance has given to it; any other is given in its stead.
 */
export function admit(
  app: FastifyInstance,
  admissionOf: (request: FastifyRequest) => Admission | null,
): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const admission = admissionOf(request);
    if (admission === null) return done(null, payload);
    request.place?.leave();
    request.place = new Place(admission);
    const isAdmitted = request.place.work();
    done(isAdmitted ? null : new OverloadError('the maximum of requests is in progress'), payload);
  });
  // A surrounding instance gives the places of this one back.
  if (app.hasRequestDecorator('place')) return;
  app.decorateRequest('place', null);
  // onSend rather than onResponse, which does not wait for the work of a client that has disconnected. A response takes memory until
  // the client has read it.
  app.addHook('onSend', ({ place }, { raw }, payload, done) => {
    place?.finish();
    if (raw.destroyed) place?.leave();
    else raw.once('close', () => place?.leave());
    done(null, payload);
  });
}

/** A body of this size takes little memory while its request waits, and little time to redact. */
const smallBodyBytes = 4 * 1024;

/** True for a body that is kept until its request is answered; of chunks the size is not known. */
export function isSmallBody({ headers }: FastifyRequest['raw']): boolean {
  return Number(headers['content-length']) <= smallBodyBytes;
}

/** The headers that are read after an operation: for the key, the log, the trace, the compression and the body. */
const readAfterwards = [
  'authorization',
  'x-forwarded-for',
  'traceparent',
  'accept-encoding',
  'transfer-encoding',
  'content-length',
];

/**
 * Moves a request to those that wait. Its other headers, which would take memory meanwhile, are dropped; a larger body too, but for what
 * the operation keeps of it.
 * @returns false when its owner has no place left for that: it may not wait.
 */
export function startWaiting(request: FastifyRequest): boolean {
  if (request.place?.wait() !== true) return false;
  const { raw } = request;
  if (!isSmallBody(raw)) request.body = undefined;
  raw.rawHeaders = [];
  raw.headers = Object.fromEntries(
    Object.entries(raw.headers).filter(([name]) => readAfterwards.includes(name)),
  );
  return true;
}
