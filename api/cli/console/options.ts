import { InvalidArgumentError, Option } from 'commander';
import { environments } from '#shared/platform/environment.ts';
import { processorNames } from '#shared/processors/registry.ts';

/** The value of `--organization`. */
export interface Owner {
  organization: string;
}

/** The value of `--json`. */
export interface Shown {
  json?: boolean;
}

/** The value of `--revoke-keys`. */
export interface KeyRevocation {
  revokeKeys?: true;
}

export const organizationOption = new Option(
  '--organization <id>',
  'ID of the organization, as shown by `organization list`',
).makeOptionMandatory();

/** Required: no default may decide whether real money moves. */
export const environmentOption = new Option(
  '--environment <environment>',
  'live moves real money, test never does',
)
  .choices(environments)
  .makeOptionMandatory();

export const processorOption = new Option('--processor <name>', 'the processor of the account')
  .choices(processorNames)
  .makeOptionMandatory();

export const emailOption = new Option('--email <address>', 'email address of the user').makeOptionMandatory();

/** Without it keys are listed, because a backend may use them. */
export const revokeKeysOption = new Option(
  '--revoke-keys',
  'revoke the API keys that the user created, and disable the webhook endpoints that these keys created; backends that use them fail at once',
);

/** Of commands that show data. */
export const jsonOption = new Option('--json', 'as JSON instead of a table');

/** An option for a day, or a time with its offset: without one, the time would depend on the machine. */
export function timeOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text) => {
    const isComplete = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
    const time = new Date(text);
    if (isComplete && !Number.isNaN(time.getTime())) return time;
    throw new InvalidArgumentError(
      'Give a day, such as 2026-11-21, or a time with an offset, such as 2026-11-21T12:00:00Z.',
    );
  });
}

/** Reads a whole number. @param refusal what to give instead. */
export function wholeNumber(least: number, most: number, refusal: string): (text: string) => number {
  return (text) => {
    const number = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(refusal);
  };
}
