import type { Exchange } from './recorder.ts';

/** The calls of an adapter that are recorded. */
export type RecordedCall = 'getPayment' | 'createRefund' | 'findRefund' | 'getRefund' | 'probe';

/** What one call of an adapter sent and answered, without anything that belongs to the account. */
export interface Recording {
  /** Where it comes from, and when. */
  source: string;
  processor: string;
  call: RecordedCall;
  /** What the call was given, but for its time limit. A text of digits with an `n` at its end is a `bigint`. */
  given: unknown[];
  exchanges: Exchange[];
  answer: unknown;
}

/** Values that say what happened, and nothing about an account; of others, only the type is kept. */
const kept: ReadonlySet<string> = new Set([
  ...[
    'object',
    'status',
    'amount',
    'amount_captured',
    'amount_refunded',
    'captured',
    'paid',
    'refunded',
    'disputed',
  ],
  ...['currency', 'created', 'has_more', 'livemode', 'type', 'code', 'param', 'reason', 'failure_reason'],
  ...[
    'pending_reason',
    'currency-iso-code',
    'processor-response-code',
    'processor-response-type',
    'attribute',
  ],
  ...['created-at', 'page-size', 'total-items', 'current-page-number', 'gateway-rejection-reason'],
]);

/** Words of an answer that the adapters and tests go by; the ids in them are replaced. */
const words: ReadonlySet<string> = new Set(['message', 'processor-response-text']);

/** Ids of processors and of ours. */
const ids = /\b(?:ch|py|pi|re|pyr|cus|acct|txn|req|pm|card|evt|dp)_[A-Za-z0-9]{6,}\b|\bref_[0-9a-z]{26}\b/g;

/** Replaces what belongs to an account; the same id by the same stand-in throughout one recording. */
export class Scrubber {
  readonly #standIns = new Map<string, string>();
  readonly #noted = new Map<string, string>();

  /** @param id of a processor whose ids have no prefix, to be replaced wherever it stands. */
  note(id: string): void {
    if (!this.#noted.has(id)) this.#noted.set(id, `recorded${this.#noted.size + 1}`);
  }

  /** Replaces ids, e-mail addresses, IP addresses and keys in a text. */
  text(text: string): string {
    let scrubbed = text.replace(ids, (id) => this.#standInOf(id));
    for (const [id, standIn] of this.#noted) scrubbed = scrubbed.replaceAll(id, standIn);
    return scrubbed
      .replace(/[\w.+-]+@[\w-]+\.[\w.]+/g, 'person@example.com')
      .replace(/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, '192.0.2.1')
      .replace(/\b(?:sk|rk|pk|whsec)_\w+(?:\*+\w*)?/g, 'sk_test_scrubbed');
  }

  exchange({ method, path, status, contentType, body }: Exchange): Exchange {
    const isJson = contentType.includes('json');
    const scrubbed = isJson ? JSON.stringify(this.#json(JSON.parse(body), '')) : this.#xml(body);
    const merchant = path.replace(/^\/merchants\/[^/]+/, '/merchants/merchant');
    return { method, path: this.text(merchant), status, contentType, body: scrubbed };
  }

  #standInOf(id: string): string {
    const known = this.#standIns.get(id);
    if (known !== undefined) return known;
    const [prefix] = id.split('_');
    const number = this.#standIns.size + 1;
    // Ours have to stay valid.
    const standIn =
      prefix === 'ref'
        ? `ref_01h455vb4pex5vsknk084sn${String(number).padStart(3, '0')}`
        : `${prefix}_recorded${number}`;
    this.#standIns.set(id, standIn);
    return standIn;
  }

  #json(value: unknown, name: string): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#json(each, name));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#json(each, key)]));
    }
    if (typeof value === 'string') return this.#leaf(value, name);
    return typeof value === 'number' && !kept.has(name) ? 0 : value;
  }

  #leaf(value: string, name: string): string {
    const scrubbed = this.text(value);
    const isId = scrubbed !== value && /^\w+$/.test(scrubbed);
    return isId || kept.has(name) || words.has(name) || isStandIn(scrubbed) ? scrubbed : 'recorded';
  }

  /** Elements and attributes stay; of the text of an element, what `#leaf` leaves. */
  #xml(xml: string): string {
    return xml.replace(
      /<([\w-]+)([^<>]*)>([^<>]+)<\/\1>/g,
      (_, name: string, attributes: string, text: string) => {
        const isNumber = /type="(integer|boolean|datetime)"/.test(attributes) && !kept.has(name);
        const isSafe = ['amount', 'item', 'id', 'order-id', 'refunded-transaction-id'].includes(name);
        const leaf = isNumber ? text.replace(/\d/g, '0') : isSafe ? this.text(text) : this.#leaf(text, name);
        return `<${name}${attributes}>${leaf}</${name}>`;
      },
    );
  }
}

function isStandIn(text: string): boolean {
  return /^(\w+_)?recorded\d+$/.test(text) || /^ref_[0-9a-z]{26}$/.test(text);
}

/** JSON, with a `bigint` as a text of digits with an `n` at its end. */
export function toText(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each), 2);
}

export function fromText(text: string): unknown {
  return JSON.parse(text, (_, each) =>
    typeof each === 'string' && /^\d+n$/.test(each) ? BigInt(each.slice(0, -1)) : each,
  );
}

/** Where each value of an answer stands, and of what type it is; the elements of a list are one place. */
export function shapeOf(exchange: Pick<Exchange, 'contentType' | 'body'>): Map<string, Set<string>> {
  const shape = new Map<string, Set<string>>();
  const add = (path: string, type: string) => shape.set(path, (shape.get(path) ?? new Set()).add(type));
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      add(path, 'array');
      for (const each of value) visit(each, `${path}[]`);
    } else if (typeof value === 'object' && value !== null) {
      add(path, 'object');
      for (const [key, each] of Object.entries(value)) visit(each, path === '' ? key : `${path}.${key}`);
    } else add(path, value === null ? 'null' : typeof value);
  };
  if (exchange.contentType.includes('json')) visit(JSON.parse(exchange.body), '');
  else for (const [path, type] of elementsOf(exchange.body)) add(path, type);
  return shape;
}

/** The elements of an XML text, each with the type that its attribute names. */
function elementsOf(xml: string): [path: string, type: string][] {
  const open: string[] = [];
  const found: [string, string][] = [];
  for (const [, end, name = '', attributes = '', empty] of xml.matchAll(/<(\/?)([\w-]+)([^<>]*?)(\/?)>/g)) {
    if (end === '/') {
      open.pop();
      continue;
    }
    open.push(name);
    const isNull = attributes.includes('nil="true"');
    const type = /type="([\w-]+)"/.exec(attributes)?.[1]?.replace('symbol', 'string') ?? 'string';
    found.push([open.join('.'), isNull ? 'null' : type]);
    if (empty === '/') open.pop();
  }
  return found;
}

/** Which places of the recorded shape the other one lacks, or has as another type. `null` says nothing of the type, or of what is inside. */
export function differences(recorded: Map<string, Set<string>>, other: Map<string, Set<string>>): string[] {
  const isNull = (path: string) => other.get(path)?.has('null') === true;
  return [...recorded].flatMap(([path, types]) => {
    const parts = path.split('.');
    if (parts.some((_, index) => index > 0 && isNull(parts.slice(0, index).join('.')))) return [];
    const others = other.get(path);
    if (others === undefined) return [`${path}: is missing`];
    const known = [...types].filter((type) => type !== 'null');
    const isSame = known.length === 0 || isNull(path) || [...others].some((type) => types.has(type));
    return isSame ? [] : [`${path}: ${[...others].join('|')} instead of ${known.join('|')}`];
  });
}
