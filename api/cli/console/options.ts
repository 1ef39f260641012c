import { InvalidArgumentError, Option } from 'commander';
import { environments } from '#shared/platform/environment.ts';
import { processorNames } from '#shared/processors/registry.ts';

/** An option of a command. */
export interface OptionOf<Value> {
  /** @param flag such as `--max-per-day`. */
  as(flag: string): Option;
  /** Never set: it carries the type of the value. */
  value?: [Value];
}

/** What is either given or not. */
export function flag(description: string): OptionOf<true | undefined> {
  return { as: (flag) => new Option(flag, description) };
}

/** @param value a name for the value, such as `<file>`. */
export function text(value: string, description: string): OptionOf<string | undefined> {
  return { as: (flag) => new Option(`${flag} ${value}`, description) };
}

/** One or more texts. @param value such as `<key...>`. */
export function texts(value: string, description: string): OptionOf<string[] | undefined> {
  return { as: (flag) => new Option(`${flag} ${value}`, description) };
}

export function choice<Choice extends string>(
  value: string,
  choices: readonly Choice[],
  description: string,
): OptionOf<Choice | undefined> {
  return { as: (flag) => new Option(`${flag} ${value}`, description).choices(choices) };
}

/** One or more of some values. */
export function someOf<Choice extends string>(
  value: string,
  choices: readonly Choice[],
  description: string,
): OptionOf<Choice[] | undefined> {
  return { as: (flag) => new Option(`${flag} ${value}`, description).choices(choices) };
}

/** @param read turns a text, and the value so far of an option that is repeated, into the value. @throws InvalidArgumentError */
export function reading<Value>(
  value: string,
  description: string,
  read: (text: string, earlier: Value | undefined) => Value,
): OptionOf<Value | undefined> {
  return { as: (flag) => new Option(`${flag} ${value}`, description).argParser(read) };
}

export function required<Value>(option: OptionOf<Value | undefined>): OptionOf<Value> {
  return { as: (flag) => option.as(flag).makeOptionMandatory() };
}

export function withDefault<Value>(option: OptionOf<Value | undefined>, value: Value): OptionOf<Value> {
  return { as: (flag) => option.as(flag).default(value) };
}

/** @param others the names of options that cannot be given with it. */
export function conflicting<Value>(option: OptionOf<Value>, ...others: string[]): OptionOf<Value> {
  return { as: (flag) => option.as(flag).conflicts(others) };
}

export const organization = required(text('<id>', 'ID of the organization, as shown by `organization list`'));

/** Required: no default may decide whether real money moves. */
export const environment = required(
  choice('<environment>', environments, 'live moves real money, test never does'),
);

export const processor = required(choice('<name>', processorNames, 'the processor of the account'));

export const email = required(text('<address>', 'email address of the user'));

/** Without it keys are listed, because a backend may use them. */
export const revokeKeys = flag(
  'revoke the API keys that the user created, and disable the webhook endpoints that these keys created; backends that use them fail at once',
);

/** Of commands that show data. */
export const json = flag('as JSON instead of a table');

/** A day, or a time with its offset: without one, the time would depend on the machine. @param value such as `<time>`. */
export function time(value: string, description: string): OptionOf<Date | undefined> {
  return reading(value, description, (text) => {
    const isComplete = /^[1-9]\d{3}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
    const time = new Date(text);
    if (isComplete && !Number.isNaN(time.getTime())) return time;
    throw new InvalidArgumentError(
      'Give a day, such as 2026-11-21, or a time with an offset, such as 2026-11-21T12:00:00Z.',
    );
  });
}

/** A number of days. @param refusal what to give instead. */
export function days(
  description: string,
  least: number,
  most: number,
  refusal: string,
): OptionOf<number | undefined> {
  return reading('<days>', description, (text) => {
    const number = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(refusal);
  });
}
