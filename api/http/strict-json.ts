import { isDeepStrictEqual } from 'node:util';
import { getUnsafeNumberReason } from 'lossless-json';
import { atOnce, endsPiece, type Pieces } from '#shared/platform/formats/pieces.ts';

// Strict JSON in one pass, with a bounded result: a body of `[[[...` takes a hundred times its size as values.

/** Levels of objects and lists. Metadata has 10 of them, in a row of a batch or in the arguments of a tool. */
const deepest = 32;

/** Keys of one object. Metadata has at most 1,000 values. */
const mostKeys = 1_024;

/** Values of a text, those in lists and objects included. */
const mostValues = (characters: number) => 8_192 + Math.floor(characters / 8);

/** A parsed text, or what is wrong with it, as the end of a sentence without a period. */
type JsonReading = { kind: 'valid'; value: unknown } | { kind: 'invalid'; problem: string };

/**
 * Parses JSON and refuses what programs read differently: a key that occurs twice with different values, a number that
 * JavaScript would change, and keys that could change a prototype. It also refuses what would take far more memory than its text.
 * @param describeNumber the problem for such a number. It may not quote it where the text may be secret.
 */
export function readStrictJson(text: string, describeNumber = describeInexactNumber): JsonReading {
  return atOnce(readingStrictJson(text, describeNumber));
}

/** `readStrictJson` for a text that may be long. */
export function* readingStrictJson(
  text: string,
  describeNumber = describeInexactNumber,
): Pieces<JsonReading> {
  try {
    return { kind: 'valid', value: yield* new StrictJson(text, describeNumber).parse() };
  } catch (error) {
    if (error instanceof JsonProblem) return { kind: 'invalid', problem: error.message };
    throw error;
  }
}

class JsonProblem extends Error {}

/** An object or a list of which the end was not read yet. */
type OpenValue = OpenList | OpenObject;

interface OpenList {
  list: unknown[];
}

interface OpenObject {
  object: Record<string, unknown>;
  /** Of the value that is being read. */
  key: string;
  /** How many keys were read. */
  keys: number;
}

const space = /[ \t\n\r]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literals: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** Iterative, so that nesting cannot exhaust the stack. */
class StrictJson {
  readonly #text: string;
  readonly #describeNumber: (literal: string) => string;
  readonly #open: OpenValue[] = [];
  #at = 0;

  constructor(text: string, describeNumber: (literal: string) => string) {
    this.#text = text;
    this.#describeNumber = describeNumber;
  }

  *parse(): Pieces<unknown> {
    const most = mostValues(this.#text.length);
    for (let values = 1; ; values += 1) {
      if (values > most) throw new JsonProblem(`more than ${most} values; send fewer at a time`);
      if (endsPiece(values)) yield;
      let value = this.#begin();
      // The value is complete, and may complete those around it.
      while (value !== undefined) {
        const around = this.#open.at(-1);
        if (around === undefined) return this.#end(value);
        this.#add(around, value);
        value = this.#continue(around);
      }
    }
  }

  /** Reads a scalar or an empty list or object, or begins one. @returns undefined when it begins one. */
  #begin(): unknown {
    switch (this.#next()) {
      case '{':
        return this.#enter({ object: {}, key: '', keys: 0 }, '}');
      case '[':
        return this.#enter({ list: [] }, ']');
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #enter(value: OpenValue, end: string): unknown {
    this.#at += 1;
    if (this.#next() === end) {
      this.#at += 1;
      return contentOf(value);
    }
    if (this.#open.push(value) > deepest) throw new JsonProblem('nested too deeply');
    if ('object' in value) this.#key(value);
    return undefined;
  }

  /** Reads what follows a value within another. @returns the other when it ends here. */
  #continue(around: OpenValue): unknown {
    const next = this.#next();
    this.#at += 1;
    if (next === ',') {
      if ('object' in around) this.#key(around);
      return undefined;
    }
    if (next !== ('object' in around ? '}' : ']')) throw invalid();
    this.#open.pop();
    return contentOf(around);
  }

  #key(around: OpenObject): void {
    if (this.#next() !== '"') throw invalid();
    around.key = this.#string();
    around.keys += 1;
    if (around.keys > mostKeys) throw new JsonProblem(`an object has more than ${mostKeys} keys`);
    if (this.#next() !== ':') throw invalid();
    this.#at += 1;
  }

  #add(around: OpenValue, value: unknown): void {
    if ('list' in around) {
      around.list.push(value);
      return;
    }
    const { object, key } = around;
    if (
      key === '__proto__' ||
      (key === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype'))
    )
      throw new JsonProblem('must not have a key __proto__ or constructor.prototype');
    if (Object.hasOwn(object, key) && !isDeepStrictEqual(object[key], value))
      throw new JsonProblem('a key occurs twice with different values');
    object[key] = value;
  }

  #string(): string {
    const start = this.#at;
    let quote = start;
    do quote = this.#text.indexOf('"', quote + 1);
    while (quote !== -1 && this.#isEscaped(quote));
    if (quote === -1) throw invalid();
    this.#at = quote + 1;
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      throw invalid();
    }
  }

  #isEscaped(at: number): boolean {
    let before = at - 1;
    while (this.#text[before] === '\\') before -= 1;
    return (at - before) % 2 === 0;
  }

  #scalar(): unknown {
    const literal = this.#match(scalar);
    if (literal === '') throw invalid();
    return literals.has(literal) ? literals.get(literal) : this.#number(literal);
  }

  /** Decimals may lose digits beyond double precision. Whole numbers, and those that would become whole, may not. */
  #number(literal: string): number {
    const value = Number(literal);
    const reason = getUnsafeNumberReason(literal);
    if (reason === undefined || (reason === 'truncate_float' && !Number.isInteger(value))) return value;
    throw new JsonProblem(this.#describeNumber(literal));
  }

  #end(value: unknown): unknown {
    if (this.#next() !== undefined) throw invalid();
    return value;
  }

  /** The next character that is no space. */
  #next(): string | undefined {
    this.#match(space);
    return this.#text[this.#at];
  }

  /** @returns the text that an expression finds here; empty for none. */
  #match(expression: RegExp): string {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}

function contentOf(value: OpenValue): unknown {
  // A list that has grown has room for sixteen values more.
  return 'list' in value ? value.list.slice() : value.object;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function invalid(): JsonProblem {
  return new JsonProblem('not valid JSON');
}

function describeInexactNumber(literal: string): string {
  return `the number ${literal.slice(0, 40)} cannot be stored exactly; send it as a string in metadata`;
}
