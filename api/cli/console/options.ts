import { InvalidArgumentError, Option } from 'commander';
import { environments } from '../../../shared/platform/environment.ts';
import { processorNames } from '../../../shared/processors/registry.ts';

/** The value of `--organization`. */
export interface Owner {
  organization: string;
}

/** The value of `--json`. */
export interface Shown {
  json?: true;
}

/** `--organization <id>`, required. */
export function organizationOption(): Option {
  return new Option(
    '--organization <id>',
    'ID of the organization, as shown by `organization list`',
  ).makeOptionMandatory();
}

/** `--environment <live|test>`, required: no default may decide whether real money moves. */
export function environmentOption(): Option {
  return new Option('--environment <environment>', 'live moves real money, test never does')
    .choices(environments)
    .makeOptionMandatory();
}

/** `--processor <name>`, required. */
export function processorOption(): Option {
  return new Option('--processor <name>', 'the processor of the account')
    .choices(processorNames)
    .makeOptionMandatory();
}

/** `--email <address>` of a user, required. */
export function emailOption(): Option {
  return new Option('--email <address>', 'email address of the user').makeOptionMandatory();
}

/** The value of `--revoke-keys`. */
export interface KeyRevocation {
  revokeKeys?: boolean;
}

/** `--revoke-keys`. Without it keys are listed, because a backend may use them. */
export function revokeKeysOption(): Option {
  return new Option(
    '--revoke-keys',
    'revoke the API keys that the user created; backends that use them fail at once',
  );
}

/** `--json`, of commands that show data. */
export function jsonOption(): Option {
  return new Option('--json', 'as JSON instead of a table');
}

/** A day, or a time with its offset: without one, the time would depend on the machine. */
export function readTime(text: string): Date {
  const isComplete = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const time = new Date(text);
  if (isComplete && !Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(
    'Give a day, such as 2026-11-21, or a time with an offset, such as 2026-11-21T12:00:00Z.',
  );
}

/** Examples for the end of a command's help. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ npm run -s admin -- ${line}`).join('\n')}\n`;
}
